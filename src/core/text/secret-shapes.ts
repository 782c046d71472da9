import { allIn, patternFinder, type TextSpan } from './search.ts';

/** Formats whose beginning no word has. */
const DISTINCT = String.raw`gsk_[A-Za-z0-9]{12,}|xai-[A-Za-z0-9]{16,}|sb_live_[A-Za-z0-9_-]{8,}|AIza[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{12,}|hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+){0,2}|Bearer\s{1,512}[A-Za-z0-9._~+/-]{12,}={0,2}`;

/**
 * The formats of common API keys and tokens, as the source of a regular expression. Each alternative ends with a run of its own characters,
 * so that a search takes time proportional to the text.
 */
export const SECRET_SHAPES = String.raw`\b(?:(?:sk|pk|rk)[-_][A-Za-z0-9_-]{12,}|${DISTINCT})`;

/**
 * The same formats after a letter or digit, as in `abcsk-live-…`. Words such as `task-list-of-today` also contain `sk-`, so these formats
 * need a second part of a known key, or a run of letters and digits.
 */
export const GLUED_SECRET_SHAPES = String.raw`(?:sk|pk|rk)[-_](?:(?:live|test|proj|ant|or|svcacct|admin)[-_][A-Za-z0-9_-]{8,}|(?:[A-Za-z0-9]{0,16}[-_]){0,3}(?=[A-Za-z]{0,32}\d)(?=\d{0,32}[A-Za-z])[A-Za-z0-9]{12,}[A-Za-z0-9_-]*)|${DISTINCT}`;

/** Finds texts in the formats of common API keys and tokens, also after a letter or digit, in linear time. */
export const findSecrets = patternFinder(new RegExp(`${SECRET_SHAPES}|${GLUED_SECRET_SHAPES}`, 'g'));

export const secretsIn = (text: string): TextSpan[] => allIn(findSecrets, text);
