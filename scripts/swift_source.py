"""Swift source with its comments and literals blanked, for the checks of this folder."""
import re

# What may stand before the slash of a regular expression; elsewhere a slash divides.
BEFORE_REGEX = re.compile(r"(^|[=(\[{,:;!?&|]|\b(return|in|case|where|try|await))\s*$")
RAW_QUOTE = re.compile(r'(#*)("""|")')
REGEX = re.compile(r"/(?![\s/*)])(\\.|[^/\\\n])*/")


def blanked(text):
    """The text with a space for each character of a comment, a string or a regular expression; its lines stay where they are.

    Raises ValueError where a comment or a string does not end.
    """
    out, position = list(text), 0
    while position < len(text):
        end = literal_end(text, position)
        if end is None:
            position += 1
            continue
        for index in range(position, end):
            if out[index] != "\n":
                out[index] = " "
        position = end
    return "".join(out)


def literal_end(text, start):
    """Where the comment, string or regular expression that starts here ends; None if none starts here."""
    character = text[start]
    if character == "/":
        if text.startswith("//", start):
            end = text.find("\n", start)
            return len(text) if end < 0 else end
        if text.startswith("/*", start):
            return comment_end(text, start)
        found = REGEX.match(text, start)
        line = text[text.rfind("\n", 0, start) + 1:start]
        return found.end() if found and BEFORE_REGEX.search(line) else None
    if character in '"#':
        quote = RAW_QUOTE.match(text, start)
        if quote:
            return string_end(text, quote.end(), len(quote.group(1)), quote.group(2))
        found = re.compile(r"(#+)/").match(text, start)
        if found:
            end = text.find("/" + found.group(1), found.end())
            return fail(text, start, "regular expression") if end < 0 else end + len(found.group(0))
    return None


def comment_end(text, start):
    """Where a block comment ends, which may have others in it."""
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return fail(text, start, "comment")


def string_end(text, start, hashes, quote):
    """Where a string ends, whose characters start here: `hashes` number signs are around its quotes."""
    close, escape, position = quote + "#" * hashes, "\\" + "#" * hashes, start
    while position < len(text):
        if text.startswith(escape + "(", position):
            position = interpolation_end(text, position + len(escape) + 1)
        elif text.startswith(escape, position):
            position += len(escape) + 1
        elif text.startswith(close, position):
            return position + len(close)
        elif quote == '"' and text[position] == "\n":
            break
        else:
            position += 1
    return fail(text, start, "string")


def interpolation_end(text, start):
    """Where an interpolation ends, behind its parenthesis: it is code, and may have strings."""
    depth, position = 1, start
    while position < len(text):
        end = literal_end(text, position)
        if end is not None:
            position = end
            continue
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
        if depth == 0:
            return position
    return fail(text, start, "interpolation")


def fail(text, position, what):
    raise ValueError(f"{line_of(text, position)}: a {what} does not end")


def line_of(text, position):
    """The number of the line of a position, from 1."""
    return text.count("\n", 0, position) + 1
