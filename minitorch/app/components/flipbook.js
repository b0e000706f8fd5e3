// Pictures one after the other: play, pause, one step back or forward, or any by the slider.
export default function ({ parentElement, data }) {
  const place = parentElement.querySelector(".place");
  const last = data.frames.length - 1;
  place.innerHTML = `
    <div class="bar">
      <button>Play</button>
      <button aria-label="One step back">&#8249;</button>
      <button aria-label="One step forward">&#8250;</button>
      <input type="range" min="0" max="${last}" value="0" aria-label="Step">
      <span></span>
    </div>
    <div class="caption"></div><div class="frame"></div>`;
  const [play, back, next] = place.querySelectorAll("button");
  const slider = place.querySelector("input");
  const frame = place.querySelector(".frame");
  frame.style.maxWidth = `${data.width}px`;
  let timer = null;

  function show(number) {
    slider.value = Math.min(Math.max(number, 0), last);
    const now = Number(slider.value);
    frame.innerHTML = data.frames[now] ?? "";
    place.querySelector(".caption").textContent = data.captions[now] ?? "";
    place.querySelector("span").textContent = `${now + 1} of ${last + 1}`;
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }
  function begin() {
    if (Number(slider.value) === last) show(0);
    play.textContent = "Pause";
    timer = setInterval(() => {
      show(Number(slider.value) + 1);
      if (Number(slider.value) === last) stop();
    }, data.seconds * 1000);
  }
  play.onclick = () => (timer ? stop() : begin());
  back.onclick = () => { stop(); show(Number(slider.value) - 1); };
  next.onclick = () => { stop(); show(Number(slider.value) + 1); };
  slider.oninput = () => { stop(); show(Number(slider.value)); };
  show(0);
  return stop;
}
