/**
 * Keeps the keyboard focus in the page. An element with the focus can vanish ("Revoke", once a key is revoked) or be disabled while its
 * work runs; the browser would then move the focus to the top of the page.
 */
export function followFocus(): void {
  /** The last element with the focus, followed by its ancestors from the inside out; empty if the viewer left the element. */
  let trace: readonly HTMLElement[] = [];
  document.addEventListener('focusin', ({ target }) => {
    trace = target instanceof HTMLElement ? around(target) : [];
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    if (relatedTarget === null && target instanceof HTMLElement && isUsable(target)) {
      // At the time of the event, an element that is about to vanish is still in the page.
      queueMicrotask(() => {
        if (trace[0] === target && isUsable(target)) trace = [];
      });
    }
  });
  new MutationObserver(() => {
    if (trace.length === 0 || (document.activeElement !== null && document.activeElement !== document.body)) return;
    // The focus does not move away from a disabled element, because the element is enabled again when its work is done.
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

/** Returns the heading of the surrounding detail or dialog, or else the content of the page. */
function placeNear(trace: readonly HTMLElement[]): HTMLElement | null {
  const part = trace.find((element) => element.isConnected && element.matches('.panel, dialog[open], main'));
  return part?.querySelector<HTMLElement>('.panel-head [tabindex]') ?? document.getElementById('content');
}
