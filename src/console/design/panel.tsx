import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { go } from '../shell/router.ts';

interface PanelProps {
  readonly title: string;
  /** The address of the list without the detail. */
  readonly closeHref: string;
  /** Whether the panel is wide, for a detail with charts and tables. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** Shows a detail next to its list, or as a page on a phone. The detail has an address of its own, so closing it navigates to the list. */
export function Panel({ title, closeHref, isWide = false, children }: PanelProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  // The cleanup of a normal effect runs after the next render. A cleanup after the next render would move the focus away from the element
  // that the viewer has selected since.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const href = before?.getAttribute('href') ?? null;
    heading.current?.focus();
    return () => {
      // If the list was read again while the panel was open, the list has a new link element at the same address.
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
        // In a dialog, Escape closes the dialog and not the panel.
        const isInDialog = event.target instanceof Element && event.target.closest('dialog') !== null;
        // Escape first closes an open explanation.
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
