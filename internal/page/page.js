'use strict';
(() => {
  const root = document.documentElement;
  root.classList.add('scripted');
  const said = document.getElementById('said');
  const say = text => { said.textContent = ''; said.textContent = text; };

  // Light or dark: what the system says until the reader chooses.
  const theme = document.getElementById('theme');
  const system = matchMedia('(prefers-color-scheme: dark)');
  const dark = () => root.dataset.theme ? root.dataset.theme === 'dark' : system.matches;
  const show = () => theme.setAttribute('aria-pressed', String(dark()));
  theme.addEventListener('click', () => { root.dataset.theme = dark() ? 'light' : 'dark'; show(); });
  system.addEventListener('change', show);
  show();

  // Tables: sorted by the head of a column, again for the other direction.
  const raw = cell => cell.dataset.v ?? cell.textContent;
  const order = (a, b) => {
    const x = raw(a), y = raw(b), n = Number(x), m = Number(y);
    const numbers = x.trim() !== '' && y.trim() !== '' && !isNaN(n) && !isNaN(m);
    return numbers ? n - m : x.localeCompare(y, 'en', { numeric: true });
  };
  for (const table of document.querySelectorAll('table.sort')) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = head.textContent;
      head.textContent = '';
      head.append(button);
      button.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') === 'ascending';
        for (const other of heads) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const rows = [...table.tBodies[0].rows];
        // What is not known, an empty cell, stands at the end in both directions.
        const empty = row => raw(row.cells[column]).trim() === '' ? 1 : 0;
        rows.sort((r, s) => empty(r) - empty(s) || (down ? -1 : 1) * order(r.cells[column], s.cells[column]));
        table.tBodies[0].append(...rows);
        say(`Sorted by ${button.textContent}, ${down ? 'descending' : 'ascending'}`);
      });
    });
  }
  for (const select of document.querySelectorAll('.filter select')) {
    const rows = [...select.closest('.table').querySelectorAll('tbody tr')];
    select.addEventListener('change', () => {
      for (const row of rows) row.hidden = select.value !== '' && row.dataset.status !== select.value;
      say(`${rows.filter(row => !row.hidden).length} of ${rows.length} rows are shown`);
    });
  }

  // CSV: the values behind the cells. A text that a spreadsheet would take for a formula gets a quote.
  const field = text => {
    if (/^[=+\-@\t\r]/.test(text) && isNaN(Number(text))) text = "'" + text;
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const csv = table => {
    const lines = table.dataset.note ? ['# ' + table.dataset.note] : [];
    for (const row of table.rows) {
      if (!row.hidden) lines.push([...row.cells].map(cell => field(raw(cell).trim())).join(','));
    }
    return lines.join('\n') + '\n';
  };
  for (const button of document.querySelectorAll('.copy')) {
    const box = button.closest('.table');
    button.setAttribute('aria-label', 'Copy as CSV: ' + box.dataset.name);
    button.addEventListener('click', async () => {
      const text = csv(box.querySelector('table'));
      const done = how => { button.textContent = how; say(how); setTimeout(() => { button.textContent = 'Copy as CSV'; }, 2500); };
      try {
        await navigator.clipboard.writeText(text);
        done('Copied');
        return;
      } catch { /* not allowed here: the old way */ }
      let area = box.querySelector('textarea');
      if (!area) {
        area = document.createElement('textarea');
        area.readOnly = true;
        area.setAttribute('aria-label', 'CSV of ' + box.dataset.name);
        box.append(area);
      }
      area.value = text;
      area.focus();
      area.select();
      let copied = false;
      try { copied = document.execCommand('copy'); } catch { /* the text stands selected */ }
      if (copied) { area.remove(); button.focus(); }
      done(copied ? 'Copied' : 'Selected below: copy it with Ctrl+C');
    });
  }

  // Charts: what a point is, at once instead of after a second.
  const tip = document.getElementById('tip');
  for (const title of document.querySelectorAll('.hint > title')) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  const over = event => {
    const hint = event.target.closest && event.target.closest('.hint');
    if (!hint) { tip.hidden = true; return; }
    tip.textContent = hint.dataset.tip;
    tip.hidden = false;
    const box = hint.getBoundingClientRect();
    const left = Math.min(box.left + box.width / 2 + 10, root.clientWidth - tip.offsetWidth - 8);
    const above = box.top - tip.offsetHeight - 6;
    // By the object model: a style in the markup is not allowed on this page.
    tip.style.left = Math.max(left, 8) + scrollX + 'px';
    tip.style.top = (above > 4 ? above : box.bottom + 6) + scrollY + 'px';
  };
  document.addEventListener('pointerover', over);
  document.addEventListener('pointerdown', over);
  document.addEventListener('keydown', event => { if (event.key === 'Escape') tip.hidden = true; });

  // A link to something inside of details opens them, and so does the printer.
  const open = () => {
    const id = location.hash.slice(1);
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
    target.scrollIntoView();
  };
  addEventListener('hashchange', open);
  open();
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll('details:not([open])')];
    for (const d of closed) d.open = true;
  });
  addEventListener('afterprint', () => { for (const d of closed) d.open = false; });
})();
