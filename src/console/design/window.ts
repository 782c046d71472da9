import { useEffect, useRef, useState } from 'preact/hooks';

interface RowWindow {
  readonly body: { current: HTMLTableSectionElement | null };
  /** The first row that is drawn, and the one behind the last. */
  readonly first: number;
  readonly end: number;
  /** Heights of the rows that are not, px. */
  readonly before: number;
  readonly behind: number;
}

/** Rows above and below the ones in sight that are drawn, too. */
const MARGIN = 20;

/**
 * The rows of a table that are near what is in sight. All rows have the height of the first one.
 * @param onEnd is called when the last rows come near
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
    // Captured, as a panel that scrolls does not tell the window.
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
