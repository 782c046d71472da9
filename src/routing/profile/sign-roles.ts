import { SIGN } from './lexicon/lexicon.ts';
import { SIGNS } from './lexicon/signs.ts';

/** Verbs that name a task. The first one leads; later ones mostly describe its object. */
export const LEAD = 1;
/** Verbs with a text as their object. */
export const ON_TEXT = 2;
export const OBJECT = 4;
/** Nouns that documents mention too. */
export const THING = 8;
/** The roles of a sign in a sentence, by its index. */
const ROLES = new Uint8Array(SIGNS.length);
for (const verb of ['translate', 'summarize', 'extract', 'classify', 'edit'] as const)
  ROLES[SIGN[verb]] = LEAD | ON_TEXT;
ROLES[SIGN.solve] = LEAD;
for (const noun of ['prose', 'piece', 'code', 'program'] as const) ROLES[SIGN[noun]] = OBJECT | THING;
for (const noun of ['tongue', 'fields', 'labels', 'given'] as const) ROLES[SIGN[noun]] = THING;

/** Whether a sign, -1 for none, has a role. */
export const hasRole = (sign: number, role: number): boolean => sign >= 0 && (ROLES[sign]! & role) !== 0;
