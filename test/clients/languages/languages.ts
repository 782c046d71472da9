import type { ClientLanguage } from './language.ts';
import { python } from './python/python.ts';

/** In the order of the summary. */
export const LANGUAGES: readonly ClientLanguage[] = [python];

/** The programs that a language needs and this machine lacks. */
export const missingTools = ({ tools }: ClientLanguage): readonly string[] =>
  tools.filter((tool) => Bun.which(tool) === null);
