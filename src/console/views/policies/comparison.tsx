import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../design/button.tsx';
import { CodePlace, useEditorCode } from './code.tsx';

interface ComparisonProps {
  readonly a: { readonly label: string; readonly text: string };
  readonly b: { readonly label: string; readonly text: string };
}

const WIDE = matchMedia('(min-width: 1000px)');

/** Two texts of one file, with their differences. */
export function Comparison({ a, b }: ComparisonProps) {
  const host = useRef<HTMLDivElement>(null);
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
    return code.openComparison(host.current, a, b, { isWide, isWhole });
  }, [code, isWide, isWhole, a.text, b.text]);
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
