// One press of Back leaves a page, and finds the one before as it was left. What changes only the
// settings of a page replaces its entry in the history. Going to another page, Streamlit first takes
// the settings out of the address of the old one; they are put back before the page is left.
const MOMENT = 3000;

export default function () {
  if (window.history.minitorch) return;
  window.history.minitorch = true;
  const push = window.history.pushState.bind(window.history);
  let removed = null; // the address and state before settings were taken out, and when
  window.history.pushState = (state, title, url) => {
    const from = new URL(window.location.href), to = new URL(url, from);
    if (to.pathname === from.pathname) {
      if (to.searchParams.size < from.searchParams.size)
        removed = { url: from.href, state: window.history.state, at: Date.now() };
      else removed = null;
      return window.history.replaceState(state, title, url);
    }
    if (removed && Date.now() - removed.at < MOMENT)
      window.history.replaceState(removed.state, "", removed.url);
    removed = null;
    return push(state, title, url);
  };
}
