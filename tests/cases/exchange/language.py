"""The small language of the case files: variables, spellings of long values, and matchers of answers."""
import base64
import hashlib
import json
import re

_VARIABLE = re.compile(r"\$\{([A-Za-z0-9_.]+)\}")


def substitute(text, variables):
    whole = _VARIABLE.fullmatch(text)
    if whole:
        return variables[whole.group(1)]
    return _VARIABLE.sub(lambda m: str(variables[m.group(1)]), text)


def _sole_key(value):
    if isinstance(value, dict) and len(value) == 1:
        (key,) = value
        if key.startswith("$"):
            return key
    return None


def _compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def expand(value, variables):
    """A value of a request with everything spelled out."""
    key = _sole_key(value)
    if key is not None:
        return _FUNCTIONS[key](value[key], variables)
    if isinstance(value, str):
        return substitute(value, variables)
    if isinstance(value, list):
        return [expand(item, variables) for item in value]
    if isinstance(value, dict):
        result = {}
        for name, item in value.items():
            if name == "$entries":
                result.update(_entries(item, variables))
            else:
                result[substitute(name, variables)] = expand(item, variables)
        return result
    return value


def _repeat(argument, variables):
    text, count = argument
    return substitute(text, variables) * count


def _entries(argument, variables):
    """Members of a map by number: [count, name with ${i}, value]."""
    count, name, value = argument
    numbered = ({**variables, "i": n} for n in range(1, count + 1))
    return {substitute(name, v): expand(value, v) for v in numbered}


def _each(argument, variables):
    count, template = argument
    return [expand(template, {**variables, "i": n}) for n in range(1, count + 1)]


_FUNCTIONS = {
    "$json": lambda a, v: _compact(expand(a, v)),
    "$repeat": _repeat,
    "$concat": lambda a, v: "".join(str(expand(part, v)) for part in a),
    "$base64": lambda a, v: base64.b64encode(expand(a, v).encode()).decode(),
    "$each": _each,
    "$entries": _entries,
}


class Mismatch(AssertionError):
    pass


ABSENT = object()


def _need(condition, where, expected, actual):
    if not condition:
        raise Mismatch("%s: expected %s, got %s" % (where, _show(expected), _show(actual)))


def _show(value):
    text = "nothing" if value is ABSENT else repr(value)
    return text if len(text) < 1500 else text[:1500] + "..."


def match(expected, actual, variables, where="answer"):
    """Raises Mismatch unless `actual` is what `expected` describes, no more and no less."""
    key = _sole_key(expected)
    if key in _MATCHERS:
        _MATCHERS[key](expected[key], actual, variables, where)
        return
    if key == "$each":
        expected = _spread(expected[key], variables)
    elif key in _FUNCTIONS:
        expected = expand(expected, variables)
    if isinstance(expected, dict):
        _need(isinstance(actual, dict), where, expected, actual)
        keyed = {substitute(name, variables): item for name, item in expected.items()}
        for name in actual:
            _need(name in keyed, "%s.%s" % (where, name), ABSENT, actual[name])
        for name, item in keyed.items():
            match(item, actual.get(name, ABSENT), variables, "%s.%s" % (where, name))
    elif isinstance(expected, list):
        _need(isinstance(actual, list) and len(actual) == len(expected), where, expected, actual)
        for n, (item, got) in enumerate(zip(expected, actual)):
            match(item, got, variables, "%s[%d]" % (where, n))
    else:
        if isinstance(expected, str):
            expected = substitute(expected, variables)
        _need(type(expected) is type(actual) and expected == actual, where, expected, actual)


def _spread(argument, variables):
    """$each of matchers: the templates are kept, only their number variable is filled in."""
    count, template = argument
    text = json.dumps(template)
    return [json.loads(text.replace("${i}", str(n))) for n in range(1, count + 1)]


def _text_matcher(test):
    def matcher(argument, actual, variables, where):
        described = expand(argument, variables) if isinstance(argument, (str, dict)) else argument
        _need(isinstance(actual, str) and test(described, actual), where, {test.__name__: described}, actual)

    return matcher


def starts_with(prefix, text):
    return text.startswith(prefix)


def matches(pattern, text):
    return re.fullmatch(pattern, text, re.S) is not None


def uuid(_, text):
    return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text) is not None


def digits(count, text):
    return re.fullmatch(r"[0-9]{%d}" % count, text) is not None


def receipt_handle(_, text):
    return re.fullmatch(r"[A-Za-z0-9+/=_-]{1,1024}", text) is not None


def _any(_, actual, variables, where):
    _need(actual is not ABSENT, where, "anything", actual)


def _maybe(argument, actual, variables, where):
    if actual is not ABSENT:
        match(argument, actual, variables, where)


def _json(argument, actual, variables, where):
    _need(isinstance(actual, str), where, "JSON text", actual)
    match(argument, json.loads(actual), variables, where + "(json)")


def _base64_json(argument, actual, variables, where):
    _need(isinstance(actual, str), where, "base64 text", actual)
    match(argument, json.loads(base64.b64decode(actual, validate=True)), variables, where + "(base64 json)")


def _integer(argument, actual, variables, where):
    low, high = argument
    _need(type(actual) is int and low <= actual <= high, where, argument, actual)


def _one_of(argument, actual, variables, where):
    for choice in argument:
        try:
            match(choice, actual, variables, where)
            return
        except Mismatch:
            continue
    _need(False, where, argument, actual)


def _message(argument, actual, variables, where):
    """A received message by its body, or by its body and what else is not the usual."""
    given = argument if isinstance(argument, dict) else {"Body": argument}
    body = substitute(given["Body"], variables)
    usual = {
        "MessageId": {"$uuid": True},
        "ReceiptHandle": {"$handle": True},
        "MD5OfBody": hashlib.md5(body.encode()).hexdigest(),
    }
    match({**usual, **given}, actual, variables, where)


_MATCHERS = {
    "$uuid": _text_matcher(uuid),
    "$digits": _text_matcher(digits),
    "$handle": _text_matcher(receipt_handle),
    "$match": _text_matcher(matches),
    "$starts": _text_matcher(starts_with),
    "$any": _any,
    "$maybe": _maybe,
    "$json": _json,
    "$base64_json": _base64_json,
    "$integer": _integer,
    "$one_of": _one_of,
    "$message": _message,
}


def pick(path, members):
    """The value at a dotted path such as Messages.0.ReceiptHandle."""
    value = members
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value
