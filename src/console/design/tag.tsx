import type { ComponentChildren } from 'preact';
import { inkOf } from './marks.ts';

export type Tone = 'good' | 'warn' | 'bad' | 'quiet';

/** A shape for each tone, for people who cannot distinguish the colours. */
const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M4 0a4 4 0 1 0 0 8a4 4 0 0 0 0-8z',
  warn: 'M4 0.5L8 7.5H0z',
  bad: 'M0.5 0.5h7v7h-7z',
  quiet: 'M0 3h8v2H0z',
};

/** Shows a state as a word with a shape and a colour. */
export const State = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
  <span class={`tag tag-${tone}`}>
    <svg width="8" height="8" viewBox="0 0 8 8" aria-hidden="true">
      <path d={SHAPES[tone]} />
    </svg>
    {children}
  </span>
);

/** The tone and the word for each state name of the API. */
export type StateWords = Readonly<Record<string, readonly [Tone, string]>>;

/** Shows a state of the API in words. An unknown state is shown by its name. */
export function NamedState({ name, of }: { readonly name: string; readonly of: StateWords }) {
  const [tone, word] = of[name] ?? ['warn', name];
  return <State tone={tone}>{word}</State>;
}

/**
 * A dot in the colour of a model, before its name.
 * @param mark a token from `markOf`
 */
export const Dot = ({ mark }: { readonly mark: string }) => (
  <svg style={inkOf(mark)} width="8" height="8" aria-hidden="true">
    <circle cx="4" cy="4" r="4" fill="currentColor" />
  </svg>
);

/** A word that classifies something and is not a state. */
export const Tag = ({ children }: { readonly children: ComponentChildren }) => <span class="tag">{children}</span>;
