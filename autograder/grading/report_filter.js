"use strict";
(() => {
  const box = document.getElementById("filter");
  const rows = [...document.querySelectorAll("[data-verdicts]")];
  const [text, exercise, outcome] = box.querySelectorAll("input, select");
  const said = box.querySelector("output");
  const show = () => {
    const wanted = text.value.trim().toLowerCase();
    const verdict = (exercise.value && " " + exercise.value) + "." + (outcome.value && outcome.value + " ");
    const students = new Set();
    for (const row of rows) {
      const named = row.dataset.student.toLowerCase().includes(wanted);
      row.hidden = !(named && row.dataset.verdicts.includes(verdict));
      if (!row.hidden) students.add(row.dataset.student);
    }
    said.textContent = students.size + (students.size === 1 ? " student" : " students");
  };
  box.addEventListener("input", show);
  box.hidden = false;
  show();
})();
