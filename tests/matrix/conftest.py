import cut


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("matrix")
    for line in [cut.SEED_TEXT, *("again: " + text for text in cut.again)]:
        terminalreporter.write_line(line)
