import { useState } from 'preact/hooks';
import { Button } from '../../design/button.tsx';

/** Whether the viewer has asked for an answer. @param what names it; another one is not asked for yet */
export function useAsked(what: string): { readonly isAsked: boolean; ask(): void } {
  const [asked, setAsked] = useState('');
  return { isAsked: asked === what, ask: () => setAsked(what) };
}

/** In the place of an answer of the books: they are asked at a click. */
export const Uncounted = ({ noun, onCount }: { readonly noun: string; readonly onCount: () => void }) => (
  <div class="state">
    <p class="state-title">Charges by {noun} are counted when you ask</p>
    <p>The books add them up, which takes seconds with millions of requests.</p>
    <Button onClick={onCount}>Count by {noun}</Button>
  </div>
);
