// One press of Back leaves a page. Going to another page, Streamlit first takes the settings out of
// the address of the old one, as a step of its own in the history; that step is left out here. What
// changes only the settings of a page replaces its entry, a moment later, unless the page is left.
const MOMENT = 3000;

export default function () {
  if (window.history.minitorch) return;
  window.history.minitorch = true;
  const push = window.history.pushState.bind(window.history);
  let waiting = null;
  window.history.pushState = (state, title, url) => {
    clearTimeout(waiting);
    const to = new URL(url, window.location.href);
    if (to.pathname !== window.location.pathname) return push(state, title, url);
    const before = window.location.href;
    waiting = setTimeout(() => {
      if (window.location.href === before) window.history.replaceState(state, title, url);
    }, MOMENT);
  };
}
