// A box to draw in. The picture goes to Python, cell by cell, when the pen is lifted.
export default function ({ parentElement, data, setStateValue }) {
  const place = parentElement.querySelector(".place");
  if (place.querySelector("canvas")) return; // drawn before: keep it
  const size = data.cells * 10;
  place.innerHTML = `<canvas width="${size}" height="${size}" aria-label="Draw here"></canvas>
    <div class="bar"><button>Clear</button></div>`;
  const canvas = place.querySelector("canvas");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  Object.assign(pen, { lineCap: "round", lineJoin: "round", lineWidth: size / 12, strokeStyle: "#fff" });
  let drawing = false;

  function position(event) {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) * size) / box.width, ((event.clientY - box.top) * size) / box.height];
  }
  function cells() {
    const pixels = pen.getImageData(0, 0, size, size).data;
    return Array.from({ length: data.cells }, (_, row) =>
      Array.from({ length: data.cells }, (_, column) => {
        let sum = 0;
        for (let y = 0; y < 10; y++)
          for (let x = 0; x < 10; x++) sum += pixels[4 * ((row * 10 + y) * size + column * 10 + x)];
        return Math.round(sum / 255) / 100;
      }));
  }
  canvas.onpointerdown = (event) => {
    drawing = true;
    canvas.setPointerCapture(event.pointerId);
    pen.beginPath();
    pen.moveTo(...position(event));
    pen.lineTo(...position(event));
    pen.stroke();
  };
  canvas.onpointermove = (event) => {
    if (!drawing) return;
    pen.lineTo(...position(event));
    pen.stroke();
  };
  canvas.onpointerup = () => {
    drawing = false;
    setStateValue("drawn", cells());
  };
  place.querySelector("button").onclick = () => {
    pen.clearRect(0, 0, size, size);
    setStateValue("drawn", null);
  };
}
