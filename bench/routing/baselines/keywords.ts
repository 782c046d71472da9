/** A dimension of a keyword scorer. */
interface Dimension {
  readonly name: string;
  readonly weight: number;
  /** Returns −1 for simple, 1 for hard. */
  score(prompt: string, lower: string): number;
}

/** Creates a dimension that scores the number of certain words: none, a few, many. */
function words(name: string, weight: number, list: string, [few, many]: readonly [number, number]): Dimension {
  const terms = list.split(',').map((term) => term.trim());
  return {
    name,
    weight,
    score(_, lower) {
      let found = 0;
      for (const term of terms) if (lower.includes(term)) found++;
      return found === 0 ? 0 : found < 3 ? few : many;
    },
  };
}

const clip = (value: number): number => Math.min(1, Math.max(-1, value));

/**
 * A keyword scorer as many routers have it: fifteen dimensions with fixed weights. The lists are our own, and nothing is fitted to data.
 */
const DIMENSIONS: readonly Dimension[] = [
  { name: 'length', weight: 0.08, score: (prompt) => clip((prompt.length / 4 - 275) / 225) },
  words(
    'code',
    0.15,
    'function, class, import, def , return, async, await, const , let , ```, python, sql, select ',
    [0.5, 1],
  ),
  words(
    'reasoning',
    0.18,
    'prove, theorem, derive, step by step, chain of thought, formally, proof, logically, deduce, infer, conclude',
    [0.7, 1],
  ),
  words(
    'technical',
    0.1,
    'algorithm, optimi, architecture, distributed, kubernetes, microservice, database, protocol, equation, theorem, entropy',
    [0.5, 1],
  ),
  words('creative', 0.05, 'story, poem, compose, brainstorm, creative, imagine, write a, lyrics, slogan', [0.5, 0.7]),
  words(
    'simple',
    0.02,
    'what is, define, translate, hello, yes or no, capital of, how old, who is, when was, which of',
    [-1, -1],
  ),
  {
    name: 'steps',
    weight: 0.12,
    score: (_, lower) => (/first.*then|step \d|\b\d\.\s|\bnext,|\bfinally\b/s.test(lower) ? 0.5 : 0),
  },
  {
    name: 'questions',
    weight: 0.05,
    score: (prompt) => ((prompt.match(/\?/g)?.length ?? 0) > 3 ? 0.5 : 0),
  },
  words(
    'imperatives',
    0.03,
    'build, create, implement, design, develop, construct, generate, deploy, configure',
    [0.3, 0.5],
  ),
  words(
    'constraints',
    0.04,
    'under, at most, at least, within, no more than, maximum, minimum, limit, budget',
    [0.3, 0.7],
  ),
  words('format', 0.03, 'json, yaml, xml, table, csv, markdown, schema, format as, structured', [0.4, 0.7]),
  words('references', 0.02, 'above, below, previous, following, the docs, the api, earlier, attached', [0.3, 0.5]),
  words('negation', 0.01, "don't, do not, avoid, never, without, except, exclude, no longer", [0.3, 0.5]),
  words(
    'domain',
    0.02,
    'quantum, genom, proteom, topolog, homomorph, zero-knowledge, lattice, fpga, photonic',
    [0.5, 0.8],
  ),
  words(
    'maths',
    0.1,
    'calculate, compute, integral, derivative, matrix, probability, equation, solve, how many',
    [0.4, 0.8],
  ),
];

/** Returns the difficulty of a prompt according to its keywords. */
export function keywordScore(prompt: string): number {
  const lower = prompt.toLowerCase();
  return DIMENSIONS.reduce((sum, { weight, score }) => sum + weight * score(prompt, lower), 0);
}
