/**
 * Keeps the focus in the page for those who use the keyboard. An element that has it can vanish ("Revoke", once a key is revoked), or be
 * off while its work runs; the browser then begins again at the top of the page.
 */
export function followFocus(): void {
  /** The element that had the focus last, with all around it, inside out; none where the viewer left it. */
  let trace: readonly HTMLElement[] = [];
  document.addEventListener('focusin', ({ target }) => {
    trace = target instanceof HTMLElement ? around(target) : [];
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    if (relatedTarget === null && target instanceof HTMLElement && isUsable(target)) {
      // An element that is about to vanish is still there now.
      queueMicrotask(() => {
        if (trace[0] === target && isUsable(target)) trace = [];
      });
    }
  });
  new MutationObserver(() => {
    if (trace.length === 0 || (document.activeElement !== null && document.activeElement !== document.body)) return;
    // One that is off comes back when its work is done.
    const [last] = trace;
    if (last?.isConnected && !isUsable(last)) return;
    const next = last && isUsable(last) ? last : placeNear(trace);
    next?.focus({ preventScroll: next.id === 'content' });
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
}

function around(element: HTMLElement): readonly HTMLElement[] {
  const found: HTMLElement[] = [];
  for (let at: HTMLElement | null = element; at !== null; at = at.parentElement) found.push(at);
  return found;
}

const isUsable = (element: HTMLElement): boolean => element.isConnected && !element.matches(':disabled');

/** The heading of the detail or the dialog in which it was, else the content of the page. */
function placeNear(trace: readonly HTMLElement[]): HTMLElement | null {
  const part = trace.find((element) => element.isConnected && element.matches('.panel, dialog[open], main'));
  return part?.querySelector<HTMLElement>('.panel-head [tabindex]') ?? document.getElementById('content');
}
