import { Trie } from '../trie.ts';
import { patternsOf } from './data.ts';
import type { WordLists } from './data-shapes.ts';
import ar from './languages/ar.json' with { type: 'json' };
import cs from './languages/cs.json' with { type: 'json' };
import de from './languages/de.json' with { type: 'json' };
import en from './languages/en.json' with { type: 'json' };
import es from './languages/es.json' with { type: 'json' };
import fr from './languages/fr.json' with { type: 'json' };
import hi from './languages/hi.json' with { type: 'json' };
import id from './languages/id.json' with { type: 'json' };
import it from './languages/it.json' with { type: 'json' };
import ja from './languages/ja.json' with { type: 'json' };
import ko from './languages/ko.json' with { type: 'json' };
import nl from './languages/nl.json' with { type: 'json' };
import pl from './languages/pl.json' with { type: 'json' };
import pt from './languages/pt.json' with { type: 'json' };
import ru from './languages/ru.json' with { type: 'json' };
import tr from './languages/tr.json' with { type: 'json' };
import uk from './languages/uk.json' with { type: 'json' };
import vi from './languages/vi.json' with { type: 'json' };
import zh from './languages/zh.json' with { type: 'json' };
import { packMeaning } from './meaning.ts';
import numerals from './numerals.json' with { type: 'json' };
import extensions from './programming-extensions.json' with { type: 'json' };
import homographs from './programming-homographs.json' with { type: 'json' };
import names from './programming-names.json' with { type: 'json' };
import { isBorrowed, SIGN, SIGNS, voteFor } from './signs.ts';
import topics from './tool-topics.json' with { type: 'json' };

const FILES: Readonly<Record<string, WordLists>> = {
  en,
  ar,
  cs,
  de,
  es,
  fr,
  hi,
  id,
  it,
  ja,
  ko,
  nl,
  pl,
  pt,
  ru,
  tr,
  uk,
  vi,
  zh,
};

/** The languages of the lexicon, in the order of their votes. */
export const LANGUAGES: readonly string[] = Object.keys(FILES);

export const NAME = SIGNS.length;
export const HOMOGRAPH = SIGNS.length + 1;
export const EXTENSION = SIGNS.length + 2;
export const TOPIC = SIGNS.length + 3;
export const NUMERAL = SIGNS.length + 4;
/** Files whose words stand for a name in every natural language. */
const NAMED: readonly (readonly [sign: number, file: WordLists])[] = [
  [NAME, names],
  [HOMOGRAPH, homographs],
  [EXTENSION, extensions],
  [TOPIC, topics],
  [NUMERAL, numerals],
];

/** Yields the patterns of all files, each with a packed meaning. */
function* patterns(): Generator<readonly [string, number]> {
  for (const [at, language] of LANGUAGES.entries()) {
    const { lists } = FILES[language]!;
    for (const sign in lists)
      if (!Object.hasOwn(SIGN, sign)) throw new RangeError(`languages/${language}.json: unknown sign ${sign}`);
    // A word votes only once for its language.
    const voted = new Set<string>();
    for (const sign of SIGNS) {
      const isLoan = isBorrowed(language, sign);
      const byVote = new Map<number, number>();
      for (const pattern of patternsOf(lists[sign] ?? [])) {
        const vote = voted.has(pattern) ? 0 : voteFor(language, sign, pattern);
        voted.add(pattern);
        const meaning = byVote.get(vote) ?? packMeaning({ sign: SIGN[sign], language: at, vote, isLoan, name: '' });
        byVote.set(vote, meaning);
        yield [pattern, meaning];
      }
    }
  }
  for (const [sign, { lists }] of NAMED)
    for (const [name, lines] of Object.entries(lists)) {
      const meaning = packMeaning({ sign, language: -1, vote: 0, isLoan: true, name });
      for (const pattern of patternsOf(lines)) yield [pattern, meaning];
    }
}

/** Finds the meanings of words and phrases. */
export const LEXICON = new Trie(patterns());
