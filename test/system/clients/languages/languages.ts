import { go } from './go/go.ts';
import { java } from './java/java.ts';
import { javascript } from './javascript/javascript.ts';
import type { ClientLanguage } from './language.ts';
import { python } from './python/python.ts';
import { rust } from './rust/rust.ts';

/** In the order of the summary. */
export const LANGUAGES: readonly ClientLanguage[] = [python, javascript, go, java, rust];

/** Returns the programs that a language needs and this machine lacks. */
export const missingTools = ({ tools }: ClientLanguage): readonly string[] =>
  tools.filter((tool) => Bun.which(tool) === null);
