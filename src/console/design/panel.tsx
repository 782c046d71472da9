import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { go } from '../shell/router.ts';

interface PanelProps {
  readonly title: string;
  /** The address of the list alone. */
  readonly closeHref: string;
  /** For a detail with charts and tables. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** A detail beside its list; on a phone a page of its own. Its address is the detail's, so closing it is going to the list. */
export function Panel({ title, closeHref, isWide = false, children }: PanelProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  // The end of an effect comes after the next drawing, and would take the focus from where the viewer has gone since.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const href = before?.getAttribute('href') ?? null;
    heading.current?.focus();
    return () => {
      // A list that was read again meanwhile has another link in its place.
      const link = href === null ? null : document.querySelector(`main a[href="${CSS.escape(href)}"]`);
      const back = before?.isConnected ? before : link;
      if (back instanceof HTMLElement) back.focus();
    };
  }, []);
  return (
    <aside
      class={isWide ? 'panel panel-wide' : 'panel'}
      aria-labelledby={id}
      onKeyDown={(event) => {
        // In a dialog it closes that.
        const isInDialog = event.target instanceof Element && event.target.closest('dialog') !== null;
        // It closes an explanation first.
        if (document.querySelector(':popover-open') !== null) return;
        if (event.key === 'Escape' && !event.defaultPrevented && !isInDialog) go(closeHref);
      }}
    >
      <header class="panel-head">
        <h2 id={id} tabIndex={-1} ref={heading}>
          {title}
        </h2>
        <a class="button button-plain" href={closeHref}>
          Close
        </a>
      </header>
      {children}
    </aside>
  );
}
