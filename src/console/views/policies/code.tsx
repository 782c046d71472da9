import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useCode } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Skeleton } from '../../design/states.tsx';
import type { PolicyEditor } from './editor/open.ts';
import { waysTaken } from './places.ts';
import type { FileDiagnostic } from './tools.ts';

const loadCode = () => import('./editor/open.ts');

/** Loads the editor's code when the first editor opens. */
export const useEditorCode = () => useCode(loadCode);

interface CodePlaceProps {
  readonly host: RefObject<HTMLDivElement | null>;
  readonly editor: ReturnType<typeof useEditorCode>;
  readonly rows: number;
}

/** The container of an editor, and its loading and error states. */
export const CodePlace = ({ host, editor: { code, isFailed, retry }, rows }: CodePlaceProps) => (
  <>
    {isFailed && (
      <div class="state" role="alert">
        <p class="state-title">The editor did not load</p>
        <p>The code of the editor did not load. If Signalbox was upgraded, reload the page.</p>
        <Button onClick={retry}>Try again</Button>
      </div>
    )}
    {!code && !isFailed && <Skeleton rows={rows} />}
    <div class="policies-code" ref={host} hidden={!code} />
  </>
);

interface CodeProps {
  readonly name: string;
  readonly text: string;
  /** Returns the current text, because typing is ahead of rendering. The function is absent for a text that does not change. */
  readonly textNow?: () => string;
  readonly isReadOnly: boolean;
  readonly schema?: unknown;
  readonly diagnostics: readonly FileDiagnostic[];
  /** The line that the address names, from 1; 0 for none. */
  readonly line: number;
  readonly column?: number;
  onText?(text: string): void;
  onLine(line: number): void;
}

/** The text of a file in an editor. The parent passes the file's name as the `key`. */
export function Code(props: CodeProps) {
  const { name, text, isReadOnly, diagnostics, line, column = 1 } = props;
  const host = useRef<HTMLDivElement>(null);
  const open = useRef<PolicyEditor | null>(null);
  const now = useRef(props);
  now.current = props;
  const editor = useEditorCode();
  const { code } = editor;
  useEffect(() => {
    if (!code || !host.current) return;
    const opened = code.openEditor(host.current, {
      name,
      text,
      isReadOnly,
      schema: () => now.current.schema ?? null,
      onText: (next) => now.current.onText?.(next),
      onLine: (next) => now.current.onLine(next),
    });
    open.current = opened;
    return () => {
      open.current = null;
      opened.close();
    };
  }, [code, name, isReadOnly]);
  useEffect(() => open.current?.setText(now.current.textNow?.() ?? text), [code, text]);
  useEffect(() => open.current?.setDiagnostics(diagnostics), [code, diagnostics]);
  useEffect(() => {
    if (line > 0) open.current?.goTo(line, column, true);
  }, [code, line, column, waysTaken.value]);
  return <CodePlace host={host} editor={editor} rows={12} />;
}
