// A picture; shapes with data-id can be clicked.
export default function ({ parentElement, data, setStateValue }) {
  const place = parentElement.querySelector(".place");
  place.innerHTML = data.svg;
  place.style.maxWidth = `${data.width}px`;
  place.style.overflowX = "auto";
  place.firstElementChild.style.minWidth = `${Math.min(data.least, data.width)}px`;
  for (const shape of place.querySelectorAll("[data-id]")) {
    shape.addEventListener("click", () => setStateValue("clicked", shape.dataset.id));
  }
}
