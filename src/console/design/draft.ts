import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * The state of a typed value. It starts with `first`, and follows `first` when that changes. The first render sets nothing: its effect runs
 * late and would overwrite text that the viewer typed in between.
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
