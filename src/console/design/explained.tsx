import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { TERMS, type TermName } from './terms.ts';
import { Coded } from './written.tsx';

/** The width of the explanation, and its distance from the window edge and the button, px. */
const [WIDTH, GAP] = [320, 8];
/** The height that the longest explanation needs, px. */
const HEIGHT = 144;

interface ExplainedProps {
  readonly term: TermName;
  /** The form of the word on this page; by default the glossary term itself. */
  readonly children?: string | readonly string[];
}

/** A word with a button that explains it. The explanation closes with Escape, a click elsewhere, or when the page scrolls. */
export function Explained({ term, children }: ExplainedProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const note = useRef<HTMLSpanElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const shown = note.current;
    if (!shown) return;
    const turned = (event: Event) => setOpen(event instanceof ToggleEvent && event.newState === 'open');
    shown.addEventListener('beforetoggle', turned);
    return () => shown.removeEventListener('beforetoggle', turned);
  }, []);
  useEffect(() => {
    if (!isOpen) return;
    const close = () => note.current?.hidePopover();
    addEventListener('scroll', close, { capture: true, once: true });
    return () => removeEventListener('scroll', close, { capture: true });
  }, [isOpen]);
  const { word, text } = TERMS[term];
  const words = [children ?? word].flat().join('');
  const last = words.lastIndexOf(' ') + 1;
  return (
    <span class="explained">
      {words.slice(0, last)}
      {/* The button is never alone in a line. */}
      <span class="nowrap">
        {words.slice(last)}
        <button
          ref={button}
          type="button"
          class="explained-button"
          aria-label={`What does “${word.toLowerCase()}” mean?`}
          popovertarget={id}
        />
      </span>
      <span
        ref={note}
        id={id}
        popover="auto"
        class="explained-text"
        role="status"
        style={isOpen ? placeAt(button.current) : {}}
      >
        {isOpen && <Coded text={text} />}
      </span>
    </span>
  );
}

/** Places the explanation below the button, or above the button if there is no room below. */
function placeAt(button: HTMLElement | null): Readonly<Record<string, string>> {
  if (!button) return {};
  const { left, top, bottom } = button.getBoundingClientRect();
  const x = Math.max(GAP, Math.min(left - GAP, innerWidth - WIDTH - GAP));
  const isBelow = bottom + HEIGHT < innerHeight || top < HEIGHT;
  return {
    left: `${x}px`,
    ...(isBelow
      ? { top: `${bottom + GAP}px`, bottom: 'auto' }
      : { top: 'auto', bottom: `${innerHeight - top + GAP}px` }),
  };
}
