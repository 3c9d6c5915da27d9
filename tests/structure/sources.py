"""Shared by the structure tests: finds sources, reads them without comments, reports violations."""
import re
import sys

COMMENT = r"//[^\n]*|/\*.*?\*/"
STRING = r'R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
CHARACTER = r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"  # but not the ' in 1'000
TOKEN = re.compile(f"(?P<comment>{COMMENT})|{STRING}|{CHARACTER}", re.S)


def files(root, *folders, suffixes=(".h", ".cpp")):
    """Returns the sources under these folders of root, in a stable order."""
    return sorted(path for folder in folders for path in (root / folder).rglob("*")
                  if path.suffix in suffixes and path.is_file())


def without_comments(text):
    return TOKEN.sub(lambda token: blank(token[0]) if token["comment"] else token[0], text)


def code_only(text):
    """Returns the text without comments and literals. Lines keep their numbers."""
    return TOKEN.sub(lambda token: blank(token[0]), text)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def lines_matching(pattern, text):
    """Yields (line number, match) for each match. A match may span lines."""
    for match in re.finditer(pattern, text):
        yield text.count("\n", 0, match.start()) + 1, match


def report(checked, violations):
    """Prints `file:line: problem` for each violation and ends the program."""
    for violation in violations:
        print(violation)
    if not checked:
        sys.exit("nothing was checked: wrong folder?")
    print(f"{checked} checked, {len(violations)} violations")
    sys.exit(1 if violations else 0)
