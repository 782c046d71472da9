import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../design/button.tsx';
import { CodePlace, useEditorCode } from './code.tsx';

interface ComparisonProps {
  readonly a: { readonly label: string; readonly text: string };
  readonly b: { readonly label: string; readonly text: string };
  /** Hears changes of the later text; absent where it cannot be changed. */
  readonly onText?: (text: string) => void;
}

const WIDE = matchMedia('(min-width: 1000px)');

/** Two texts of one file, with their differences. The later text is read once: the parent gives another key for another one. */
export function Comparison({ a, b, onText }: ComparisonProps) {
  const host = useRef<HTMLDivElement>(null);
  const hear = useRef(onText);
  hear.current = onText;
  const text = useRef(b.text);
  const [isWide, setWide] = useState(WIDE.matches);
  const [isWhole, setWhole] = useState(false);
  const editor = useEditorCode();
  const { code } = editor;
  useEffect(() => {
    const look = () => setWide(WIDE.matches);
    WIDE.addEventListener('change', look);
    return () => WIDE.removeEventListener('change', look);
  }, []);
  useEffect(() => {
    if (!code || !host.current) return;
    const listen = (next: string) => {
      text.current = next;
      hear.current?.(next);
    };
    return code.openComparison(
      host.current,
      a,
      { ...b, text: text.current },
      { isWide, isWhole, onText: onText ? listen : null },
    );
  }, [code, isWide, isWhole, a.text]);
  return (
    <>
      <div class="policies-sides small dim" aria-hidden="true">
        <span>{a.label}</span>
        <span>{b.label}</span>
      </div>
      <CodePlace host={host} editor={editor} rows={8} />
      <div class="policies-whole">
        <Button kind="plain" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show changes alone' : 'Show all lines'}
        </Button>
      </div>
    </>
  );
}
