import { useEffect, useState } from 'preact/hooks';
import { Button } from './button.tsx';

type CopyState = 'ready' | 'copied' | 'refused';

/** Copies a text, and shows the result for two seconds. */
function useCopy(text: string) {
  const [state, setState] = useState<CopyState>('ready');
  useEffect(() => {
    if (state === 'ready') return;
    const timer = setTimeout(() => setState('ready'), 2_000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setState('copied'),
      () => setState('refused'),
    );
  return { state, copy };
}

const wordOf = (state: CopyState, ready: string): string =>
  state === 'copied' ? 'Copied' : state === 'refused' ? 'Copy by hand' : ready;

/**
 * A button that copies a text which is shown elsewhere.
 * @param label a verb: "Copy as curl"
 */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const { state, copy } = useCopy(text);
  return (
    <span role="status">
      <Button onClick={() => void copy()}>{wordOf(state, label)}</Button>
    </span>
  );
}

/**
 * Shows a text such as an ID with a button that copies it.
 * @param text the full text that is copied
 * @param shown a shorter text to show
 */
export function Copy({
  text,
  shown = text,
  label,
}: {
  readonly text: string;
  readonly shown?: string;
  readonly label: string;
}) {
  const { state, copy } = useCopy(text);
  return (
    <span class="copy">
      <span class="copy-text mono" title={text}>
        {shown}
      </span>
      <button type="button" class="button button-plain" aria-label={`Copy ${label}`} onClick={() => void copy()}>
        {wordOf(state, 'Copy')}
      </button>
      <span class="unseen" role="status">
        {state === 'copied' ? `Copied ${label}` : ''}
      </span>
    </span>
  );
}
