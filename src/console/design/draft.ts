import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * A value that is typed, which begins as another one and follows that when it changes: not at the first drawing, since effects come
 * behind it and would take away what was typed meanwhile.
 */
export function useDraft<Value>(first: Value) {
  const state = useState(first);
  const [, setDraft] = state;
  const begun = useRef(first);
  useEffect(() => {
    if (begun.current === first) return;
    begun.current = first;
    setDraft(first);
  }, [first]);
  return state;
}
