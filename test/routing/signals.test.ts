import { expect, test } from 'bun:test';
import { TRANSCRIPTS, verdictOf } from './signals/transcripts.ts';

/** The transcripts that Signalbox gets wrong, with the reason. */
const KNOWN: Readonly<Record<string, string>> = {
  "the provider's filter stops the answer": 'a finish reason is not in the transcript',
  'the filter stops in the middle': 'a finish reason is not in the transcript',
  'an apology and a refusal in text': 'only a marked refusal counts; texts of models are not read',
  'a refusal in other words': 'only a marked refusal counts; texts of models are not read',
  'a refusal in German': 'only a marked refusal counts; texts of models are not read',
  'a flaky test is run on request': 'the text of the user, who wants the repetition, is not read',
  'git status, again and again': 'its name has the word of a tool that waits',
  'a pod whose image is missing': 'this state of a container is no mark of a failure',
  'a stack that rolled back': 'this state of a stack is no mark of a failure',
  'a file that another process writes': 'a missing file is a failure of `ls`',
  'a batch that is being validated': 'this state of a job is not among the marks',
  'checkout and tests of each package': 'the same failure of several commands counts as the same trouble',
  'a git bisect run by hand with make': 'a bisection is not recognized as a change of the files',
  'a health URL of a server that has crashed': 'the poll is not connected with the earlier failure',
  'a queue that empties': 'a tool without a command, and its result has no state',
  'an image that is generated': 'this state of a job is not among the marks',
  'screens that a human fills in': 'a tool without a command, and its result has no state',
};

for (const [file, transcripts] of Object.entries(TRANSCRIPTS))
  for (const one of transcripts)
    test(`${file}: ${one.name}${one.name in KNOWN ? ' (known mistake)' : ''}`, () => {
      const [right, wrong] = one.fails ? ['hit', 'missed'] : ['quiet', 'false_alarm'];
      expect<string>(verdictOf(one)).toBe(one.name in KNOWN ? wrong! : right!);
    });

test('every known mistake is the name of a transcript', () => {
  const names = Object.values(TRANSCRIPTS).flatMap((all) => all.map(({ name }) => name));
  expect(names).toEqual(expect.arrayContaining(Object.keys(KNOWN)));
});
