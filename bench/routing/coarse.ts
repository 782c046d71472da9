/** The task names for categories of some sources. Other categories are used as their own names. */
const COARSE: Readonly<Record<string, string>> = {
  natural_qa: 'facts',
  trivia_qa: 'facts',
  mbpp: 'coding',
  human_eval: 'coding',
  arc_challenge: 'exam',
  openbook_qa: 'exam',
  commonsense_qa: 'exam',
  mmlu: 'exam',
  gsm8k: 'math',
  'agentverse-mgsm': 'math',
  'agentverse-logicgrid': 'reasoning',
  commongen: 'writing',
  math: 'math',
  physics: 'science',
  chemistry: 'science',
  engineering: 'science',
  biology: 'life',
  psychology: 'life',
  business: 'business',
  economics: 'business',
  'computer science': 'coding',
};

export const coarseTask = (category: string): string => COARSE[category] ?? taskOf(category);

/** Returns a category as a name that a policy can give to a task. */
export const taskOf = (category: string): string => `kind_${category.toLowerCase().replace(/[^a-z0-9]+/g, '_')}`;
