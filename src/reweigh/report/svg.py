"""A matplotlib figure as SVG inside a page: colors follow the page's light or dark mode, ids are unique."""

import io
import re
import warnings
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from reweigh.report.figures.style import HOVER, LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SVG = "http://www.w3.org/2000/svg"
NAMESPACE = re.compile(r"^\{.*\}")
VARIABLES = {color: f"var(--{role})" for role, color in LIGHT.items()}
UNPRINTABLE = re.compile(r"[\x00-\x1f\ufffe\uffff]")  # XML has no such letters
LENGTHY = re.compile(r"-?\d+\.\d{2,}")
DOT = re.compile(r"M (\S+ \S+) L \1(?= M|$)")  # a line without length, which round ends make a dot


def to_svg(figure: "Figure", prefix: str, alternative: str) -> str:
    """The figure as an ``<svg>`` element, whose ids begin with ``prefix``."""
    import matplotlib as mpl

    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has other fonts
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(text.getvalue())
    for element in root.iter():  # inside HTML, names need no namespaces
        element.tag = NAMESPACE.sub("", element.tag)
        for key in [key for key in element.keys() if NAMESPACE.match(key)]:  # noqa: SIM118 (not a dict)
            element.set(NAMESPACE.sub("", key), element.attrib.pop(key))
    _titles(root)
    _own_ids(root, prefix)
    _prune(root)
    for element in root.iter():
        if style := element.get("style"):
            style = re.sub(r"#[0-9a-f]{6}\b", lambda hit: VARIABLES.get(hit[0], hit[0]), style)
            element.set("style", re.sub(r" ?font-family: [^;]*;", "", style).replace("; ", ";").replace(": ", ":"))
        for key in ("d", "transform", "x", "y"):
            if value := element.get(key):
                short = LENGTHY.sub(lambda hit: f"{float(hit[0]):.1f}", " ".join(value.split()))
                element.set(key, DOT.sub(r"M\1h0", short))
        if element.get("transform", "").startswith("rotate(-0 "):
            del element.attrib["transform"]
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-label", alternative)
    root.set("xmlns", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _titles(root: ElementTree.Element) -> None:
    """Words of marks become their titles, which browsers show when the reader points at them."""
    for element in root.iter():
        name = element.get("id", "")
        if name.startswith(HOVER):
            del element.attrib["id"]
            title = ElementTree.Element("title")
            title.text = UNPRINTABLE.sub(" ", bytes.fromhex(name.removeprefix(HOVER)).decode())
            element.insert(0, title)


def _own_ids(root: ElementTree.Element, prefix: str) -> None:
    """Make ids unique in the page, and remove those that nothing refers to."""
    written = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r'(?:url\(|href=")#([\w-]+)', written))
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in used:
            element.set("id", f"{prefix}-{name}")
        for key, value in element.items():
            if key == "href" and value.startswith("#"):
                element.set(key, f"#{prefix}-{value[1:]}")
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{prefix}-"))


def _prune(element: ElementTree.Element) -> None:
    """Remove what shows nothing: metadata, rules for all of the page, white space, empty groups, invisible paths."""
    element.tail = None
    if element.text is not None and not element.text.strip():
        element.text = None
    for child in list(element):
        _prune(child)
        empty = child.tag in ("g", "defs") and len(child) == 0
        invisible = child.tag == "path" and child.get("style") == "fill: none"
        if empty or invisible or child.tag in ("metadata", "style"):
            element.remove(child)
