// A picture. Shapes with data-id can be clicked, or reached with Tab and the arrow keys and chosen
// with Enter. A new picture changes the old one in place: nothing flickers, the focus stays.
export default function ({ parentElement, data, setStateValue }) {
  const place = parentElement.querySelector(".place");
  const fresh = document.createElement("div");
  fresh.innerHTML = data.svg;
  patch(place, fresh);
  place.style.maxWidth = `${data.width}px`;
  place.style.overflowX = "auto";
  place.firstElementChild.style.minWidth = `${Math.min(data.least, data.width)}px`;

  const shapes = [...place.querySelectorAll("[data-id]")];
  const focused = place.getRootNode().activeElement;
  const reachable = shapes.includes(focused) ? focused : shapes[0];
  for (const shape of shapes) shape.setAttribute("tabindex", shape === reachable ? "0" : "-1");

  const choose = (shape) => shape && setStateValue("clicked", shape.dataset.id);
  place.onclick = (event) => choose(event.target.closest("[data-id]"));
  place.onkeydown = (event) => {
    const shape = event.target.closest("[data-id]");
    if (!shape) return;
    const now = shapes.indexOf(shape), last = shapes.length - 1;
    const to = {
      ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: last,
    }[event.key];
    if (event.key === "Enter" || event.key === " ") choose(shape);
    else if (to === undefined) return;
    else {
      const next = shapes[Math.min(Math.max(to, 0), last)];
      shape.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    }
    event.preventDefault();
  };
}

// Make what is shown equal to what is new, keeping the elements that are of the same kind.
function patch(shown, fresh) {
  for (const { name } of [...(shown.attributes ?? [])])
    if (!fresh.hasAttribute(name) && !["class", "style", "tabindex"].includes(name)) shown.removeAttribute(name);
  for (const { name, value } of [...(fresh.attributes ?? [])])
    if (shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  if (shown.nodeType === Node.TEXT_NODE) {
    if (shown.data !== fresh.data) shown.data = fresh.data;
    return;
  }
  const mine = [...shown.childNodes], theirs = [...fresh.childNodes];
  theirs.forEach((child, number) => {
    const old = mine[number];
    if (!old) shown.append(child);
    else if (old.nodeName !== child.nodeName) old.replaceWith(child);
    else patch(old, child);
  });
  for (const old of mine.slice(theirs.length)) old.remove();
}
