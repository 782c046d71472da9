import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * The state of a typed value. The value starts with `first`, and follows `first` when `first` changes. The first render does not set the
 * value, because the effect of the render runs late and would overwrite text that the viewer typed in between.
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
