const root = document.documentElement, button = document.getElementById("theme");
const asked = new URLSearchParams(location.search).get("theme");
if (asked === "dark" || asked === "light") root.dataset.theme = asked;
button.hidden = false;
button.onclick = () => {
  const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
};
