import type * as Re2 from 're2js';
import type { TextSpan } from './personal.ts';

declare const require: (name: 're2js') => typeof Re2;

/** A pattern whose search takes time proportional to the text, whatever the pattern and the text are. */
export interface LinearPattern {
  /** Returns all matches in order, without overlap and without empty matches. */
  matches(text: string): TextSpan[];
}

/**
 * Compiles a pattern in the syntax of RE2, which has no references to groups and no look-around.
 * @param isCaseBlind whether `a` also matches `A`
 * @throws Error with a sentence for a pattern that RE2 refuses
 */
export function linearPattern(source: string, isCaseBlind = false): LinearPattern {
  // Loading RE2 would take a fifth of a start, and few policies have patterns.
  const { RE2JS } = require('re2js');
  const pattern = RE2JS.compile(source, isCaseBlind ? RE2JS.CASE_INSENSITIVE : 0);
  return {
    matches(text) {
      const found: TextSpan[] = [];
      const matcher = pattern.matcher(text);
      while (matcher.find()) if (matcher.end() > matcher.start()) found.push([matcher.start(), matcher.end()]);
      return found;
    },
  };
}
