import { useEffect, useRef, useState } from 'preact/hooks';

interface RowWindow {
  readonly body: { current: HTMLTableSectionElement | null };
  /** The index of the first rendered row, and the index after the last one. */
  readonly first: number;
  readonly end: number;
  /** The heights of the rows before and after the rendered rows, px. */
  readonly before: number;
  readonly behind: number;
}

/** The number of rows to render above and below the visible rows. */
const MARGIN = 20;

/**
 * Determines the rows of a table that are visible or close to it. All rows have the height of the first row.
 * @param onEnd is called when the last rows come close to the visible area
 */
export function useWindow(count: number, isWindowed: boolean, onEnd: (() => void) | null): RowWindow {
  const body = useRef<HTMLTableSectionElement>(null);
  const [{ first, end, height }, setSeen] = useState({ first: 0, end: 2 * MARGIN, height: 40 });
  useEffect(() => {
    if (!isWindowed && !onEnd) return;
    let frame = 0;
    const look = () => {
      frame = 0;
      const table = body.current;
      if (!table) return;
      const rowHeight = table.querySelector('tr:not(.table-space)')?.getBoundingClientRect().height || 40;
      const { top, bottom } = table.getBoundingClientRect();
      const from = Math.max(0, Math.floor(-top / rowHeight) - MARGIN);
      const to = Math.ceil((innerHeight - top) / rowHeight) + MARGIN;
      setSeen((now) =>
        now.first === from && now.end === to && now.height === rowHeight
          ? now
          : { first: from, end: to, height: rowHeight },
      );
      if (bottom - innerHeight < 10 * rowHeight) onEnd?.();
    };
    const soon = () => {
      if (frame === 0) frame = requestAnimationFrame(look);
    };
    soon();
    // Scroll events do not bubble, so the window captures them to notice a panel that scrolls.
    addEventListener('scroll', soon, { passive: true, capture: true });
    addEventListener('resize', soon);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener('scroll', soon, { capture: true });
      removeEventListener('resize', soon);
    };
  });
  if (!isWindowed) return { body, first: 0, end: count, before: 0, behind: 0 };
  const [from, to] = [Math.min(first, Math.max(0, count - 1)), Math.min(end, count)];
  return { body, first: from, end: to, before: from * height, behind: (count - to) * height };
}
