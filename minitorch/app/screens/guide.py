"""The page of the guide: a chapter with its figures, and the way to all others."""

from __future__ import annotations

import json

import streamlit as st

from minitorch.app import chapters
from minitorch.app.frame import begin, chosen_module
from minitorch.app.rooms import ROOMS

GROUPS = {"start": "To begin", "task by task": "Task by task"}
SCRIPT = """<script>
// Links in the text press the button below that leads to the same place, so that the visit goes on.
function join(link) {
    const to = new URL(link.href).searchParams;
    const key = `${to.get("chapter")}-${to.get("part") || ""}`.replace(/-$/, "");
    link.onclick = (event) => {
        const button = document.querySelector(
            `.st-key-named-${key} button, .st-key-contents-${key} button`);
        if (button) { event.preventDefault(); button.click(); }
    };
}
// The chapter may still be on its way: look until it is there.
function arrive(tries) {
    const place = document.getElementById(PLACE);
    if (!place && tries) return setTimeout(() => arrive(tries - 1), 150);
    if (place && SCROLL) place.scrollIntoView({ block: "start" });
    document.querySelectorAll('a[href*="guide?chapter="]').forEach(join);
}
setTimeout(() => arrive(30), 200);
</script>"""


def chosen_chapter() -> str:
    """The chapter that the address names; the table of contents if it names none that exists."""
    name = st.query_params.get("chapter", "index")
    return name if name in chapters.chapter_names() else "index"


def link(name: str, key: str, icon: str | None = None, part: str = "") -> None:
    """A button that opens a chapter, perhaps at one of its parts."""
    st.button(
        chapters.part_title(name, part), key=f"{key}-{name}-{part}".rstrip("-"), icon=icon,
        on_click=open_chapter, args=(name, part), type="tertiary",
    )  # fmt: skip


def open_chapter(name: str, part: str = "") -> None:
    """Turn to a part of a chapter, or to its head."""
    head = chapters.parts(name)[0].anchor
    st.query_params.from_dict({"chapter": name, "part": part or head})


def show_contents() -> None:
    """All chapters, by module."""
    with st.expander("All chapters", icon=":material/toc:"):
        groups = list(chapters.contents().items())
        places = [place for _ in range(0, len(groups), 4) for place in st.columns(4)]
        for (group, names), place in zip(groups, places, strict=False):
            with place:
                number = f"Module {group[0]}:{group[1:]}" if group[0].isdigit() else group
                st.markdown(f"**{GROUPS.get(group, number)}**")
                for name in names:
                    link(name, "contents")


def show_neighbours(current: str, key: str) -> None:
    """The chapters before and after."""
    names = chapters.chapter_names()
    at = names.index(current)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        if at:
            link(names[at - 1], key, ":material/arrow_back:")
        if at + 1 < len(names):
            link(names[at + 1], key, ":material/arrow_forward:")


def show_rooms(current: str) -> None:
    """The pages of the app where the chapter can be tried."""
    last = chosen_module()
    rooms = [r for r in ROOMS if r.guide == current and r.module is not None and r.module <= last]
    if rooms:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("To look at and try:", width="content")
            for page in rooms:
                st.page_link(page.file, label=page.title, icon=f":material/{page.icon}:")


def show_part(part: chapters.Part) -> None:
    """A heading, its text and its figures."""
    if part.level == 1:
        st.header(part.title, anchor=part.anchor)
    elif part.level == 2:
        st.subheader(part.title, anchor=part.anchor, divider="gray")
    else:
        st.markdown(f"**{part.title}**")
    for kind, content in chapters.pieces(part.text):
        if kind == "figure":
            st.html(content)
        elif content.strip():
            st.markdown(content)


def show_others(current: str) -> None:
    """The chapters that this one speaks of."""
    others = chapters.links(current)
    if others and current != "index":
        st.caption("Named here:")
        with st.container(horizontal=True):
            for name, part in others:
                link(name, "named", part=part)


def run_script(current: str) -> None:
    """In the browser: go to the part that the address names, and join links to buttons."""
    part = st.query_params.get("part", "")
    place = chapters.slug(part) or chapters.parts(current)[0].anchor
    script = SCRIPT.replace("PLACE", json.dumps(place)).replace("SCROLL", json.dumps(bool(part)))
    st.html(script, unsafe_allow_javascript=True)


room = begin("guide")
st.html("<style>.stMarkdown table { display: block; overflow-x: auto; border: 0; }</style>")
chapter = chosen_chapter()
show_contents()
show_neighbours(chapter, "above")
with st.container(width=800):
    for number, part in enumerate(chapters.parts(chapter)):
        show_part(part)
        if not number:
            show_rooms(chapter)
show_others(chapter)
show_neighbours(chapter, "below")
run_script(chapter)
