<?php

/* Makes SQS calls with AsyncAws; lines in and out as sdk_clients.py says. Each call is a process of its
 * own, because a long poll would hold up the others. */

require "/usr/share/php/AsyncAws/Core/autoload.php";
require "/usr/share/php/AsyncAws/Sqs/autoload.php";

use AsyncAws\Core\Exception\InvalidArgument;
use AsyncAws\Core\Exception\Http\HttpException;
use AsyncAws\Sqs\SqsClient;

function say(array $line): void
{
    $lock = fopen(__FILE__, "r");
    flock($lock, LOCK_EX);
    $text = json_encode($line, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR) . "\n";
    for ($sent = 0; $sent < strlen($text);) {
        $sent += fwrite(STDOUT, substr($text, $sent));
    }
    fclose($lock);
}

function from_wire($value)
{
    if (!is_array($value)) {
        return $value;
    }
    if (array_keys($value) === ['$bytes']) {
        return base64_decode($value['$bytes']);
    }
    return array_map("from_wire", $value);
}

function to_wire($value)
{
    if (is_array($value)) {
        return array_map("to_wire", $value);
    }
    if ($value instanceof Traversable) {
        return array_map("to_wire", iterator_to_array($value, false));
    }
    return is_object($value) ? members_of($value) : $value;
}

/* What the getters of a result or of an object in it give, in the names of the API. */
function members_of(object $value): array
{
    $found = [];
    foreach ((new ReflectionClass($value))->getMethods(ReflectionMethod::IS_PUBLIC) as $method) {
        if (strncmp($method->name, "get", 3) !== 0 || $method->name === "getIterator") {
            continue;
        }
        /* Lists that come in pages are asked for the present page only. */
        $item = $method->getNumberOfParameters() > 0 ? $method->invoke($value, true) : $method->invoke($value);
        $name = preg_replace("/^Md5/", "MD5", substr($method->name, 3));
        $item = $name === "BinaryValue" && $item !== null ? ['$bytes' => base64_encode($item)] : to_wire($item);
        if ($item !== null && $item !== []) {
            $found[$name] = $item;
        }
    }
    return $found;
}

/* What a program that catches the exception can see of it. */
function shown(HttpException $error): array
{
    $class = explode("\\", get_class($error));
    return [
        "class" => end($class),
        "code" => $error->getAwsCode(),
        "fault" => $error->getAwsType(),
        "message" => $error->getAwsMessage(),
        "status" => $error->getCode(),
    ];
}

/* The member that the input class has no setter for, or null. */
function lacking(SqsClient $client, string $action, array $members): ?string
{
    $input = "AsyncAws\\Sqs\\Input\\{$action}Request";
    foreach (array_keys($members) as $member) {
        if (!method_exists($input, "set" . ucfirst($member))) {
            return "$action.$member";
        }
    }
    return null;
}

function answer(array $request): array
{
    $action = $request["action"];
    $members = from_wire($request["members"]);
    if (isset($members["SystemAttributeNames"])) {
        $members["AttributeNames"] = $members["SystemAttributeNames"];
        unset($members["SystemAttributeNames"]);
    }
    $client = new SqsClient(["endpoint" => $request["endpoint"], "region" => "us-east-1"]);
    if (!method_exists($client, lcfirst($action))) {
        return ["lacks" => $action];
    }
    if (($what = lacking($client, $action, $members)) !== null) {
        return ["lacks" => $what];
    }
    try {
        $result = $client->{lcfirst($action)}($members);
        $result->resolve();
        $class = get_class($result);
        $output = $class === "AsyncAws\\Core\\Result" ? [] : members_of($result);
        return ["output" => (object) $output];
    } catch (HttpException $error) {
        return ["error" => shown($error)];
    } catch (InvalidArgument $error) {
        $unknown = '/Invalid parameter "(\w+)".* The value "(\w+)" is not a valid/';
        if (preg_match($unknown, $error->getMessage(), $found)) {
            return ["lacks" => "$action.$found[1] $found[2]"];
        }
        return ["broken" => $error->getMessage()];
    } catch (Throwable $error) {
        return ["broken" => get_class($error) . ": " . $error->getMessage()];
    }
}

$package = shell_exec("dpkg-query -W -f '\${Version}' php-async-aws-sqs");
say(["client" => "async-aws/sqs " . explode("-", $package)[0]]);
pcntl_signal(SIGCHLD, SIG_IGN);
while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line, true, 512, JSON_THROW_ON_ERROR);
    if (pcntl_fork() === 0) {
        say(answer($request) + ["id" => $request["id"]]);
        exit(0);
    }
}
