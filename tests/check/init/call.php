<?php
require 'quern_adapter.php';
try {
    quern_handle(stream_get_contents(STDIN));
} catch (Exception $reason) {
    fwrite(STDERR, 'left: ' . $reason->getMessage() . "\n");
    exit(75);
}
