<?php
require 'quern_adapter.php';
try {
    quern_handle(stream_get_contents(STDIN));
    echo "done\n";
} catch (Exception $reason) {
    echo 'left ' . $reason->getMessage() . "\n";
}
