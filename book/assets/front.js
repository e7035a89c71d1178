"use strict";
// A click on "reproduce" opens the text, as it does without this script, and copies it.
for (const details of document.querySelectorAll("details.reproduce")) {
  const summary = details.querySelector("summary");
  summary.addEventListener("click", async () => {
    if (details.open || !navigator.clipboard) return;
    try {
      await navigator.clipboard.writeText(details.querySelector("code").textContent);
    } catch {
      return; // not allowed here: the text is open to be copied by hand
    }
    const said = document.createElement("span");
    said.setAttribute("role", "status");
    said.textContent = " (copied)";
    summary.append(said);
    setTimeout(() => said.remove(), 2000);
  });
}
