"""A JUnit file against the schema that CI servers have in common (Jenkins' junit-10.xsd, what
GitLab and GitHub's actions read): which element may stand where, with which attributes."""
import re
import xml.etree.ElementTree

COUNT, SECONDS, TEXT = r"\d+", r"\d+\.\d{3}", r"(?s).*"
# element: (attributes needed, others allowed, children with how many, whether it carries text)
ELEMENTS = {
    "testsuites": ({"name": TEXT, "tests": COUNT, "failures": COUNT, "errors": COUNT, "skipped": COUNT,
                    "time": SECONDS}, {}, {"testsuite": (0, None)}, False),
    "testsuite": ({"name": r"\S+", "tests": COUNT, "failures": COUNT, "errors": COUNT, "skipped": COUNT,
                   "time": SECONDS}, {"timestamp": TEXT, "hostname": TEXT},
                  {"properties": (0, 1), "testcase": (1, None)}, False),
    "properties": ({}, {}, {"property": (1, None)}, False),
    "property": ({"name": r".+", "value": TEXT}, {}, {}, False),
    "testcase": ({"name": r"\S+", "classname": r"quern\.\S+", "time": SECONDS}, {},
                 {"properties": (0, 1), "skipped": (0, 1), "error": (0, 1), "failure": (0, 1),
                  "system-out": (0, 1), "system-err": (0, 1)}, False),
    "failure": ({"type": r".+", "message": r"(?s).+"}, {}, {}, True),
    "error": ({"type": r".+", "message": r"(?s).+"}, {}, {}, True),
    "skipped": ({"message": r"(?s).+"}, {}, {}, False),
    "system-out": ({}, {}, {}, True),
    "system-err": ({}, {}, {}, True),
}


def check_element(element):
    needed, allowed, children, has_text = ELEMENTS[element.tag]
    assert needed.keys() <= set(element.keys()), (element.tag, element.attrib)
    for name, value in element.attrib.items():
        assert re.fullmatch({**needed, **allowed}[name], value), (element.tag, name, value)
    tags = [child.tag for child in element]
    assert set(tags) <= set(children), (element.tag, tags)
    for tag, (least, most) in children.items():
        assert tags.count(tag) >= least and (most is None or tags.count(tag) <= most), (element.tag, tags)
    assert tags == sorted(tags, key=list(children).index), (element.tag, tags)
    assert has_text or not (element.text or "").strip(), element.tag
    for child in element:
        assert not (child.tail or "").strip()
        check_element(child)


def check_totals(element):
    cases = list(element.iter("testcase"))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(element.get(attribute)) == sum(case.find(tag) is not None for case in cases), attribute
    assert int(element.get("tests")) == len(cases)


def read(text):
    """The root, checked."""
    root = xml.etree.ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    check_element(root)
    for element in [root, *root]:
        check_totals(element)
    for case in root.iter("testcase"):
        assert sum(case.find(tag) is not None for tag in ("failure", "error", "skipped")) <= 1
    return root
