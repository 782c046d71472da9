import { useEffect, useState } from 'preact/hooks';

/** A text such as an ID with a button that copies it. @param text as it is copied, whole @param shown in its place, shorter */
export function Copy({
  text,
  shown = text,
  label,
}: {
  readonly text: string;
  readonly shown?: string;
  readonly label: string;
}) {
  const [state, setState] = useState<'ready' | 'copied' | 'refused'>('ready');
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
  return (
    <span class="copy">
      <span class="copy-text mono" title={text}>
        {shown}
      </span>
      <button type="button" class="button button-plain" aria-label={`Copy ${label}`} onClick={() => void copy()}>
        {state === 'copied' ? 'Copied' : state === 'refused' ? 'Not allowed' : 'Copy'}
      </button>
      <span class="unseen" role="status">
        {state === 'copied' ? `${label} copied` : ''}
      </span>
    </span>
  );
}
