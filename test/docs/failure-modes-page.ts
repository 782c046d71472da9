import { ERRORS } from '../../src/core/errors.ts';
import { GROUPS, isTakenOver } from '../fault/faults.ts';
import { type Charge, type Fault, isRepeatable, type Outcome, verdictOn } from '../fault/outcome.ts';

const CHARGES: Readonly<Record<Charge, string>> = {
  nothing: 'nothing',
  reported: 'what was reported',
  begun: 'what was reported at its beginning',
  completed: 'the prompt as reported, the output as counted',
  counted: 'what was counted',
  broken: 'a broken answer',
  reserved: 'all that was reserved',
};

const TAKEN_OVER = 'the other’s answer';

function alone(outcome: Outcome): string {
  switch (outcome.ends) {
    case 'answered':
      return outcome.after ? 'the answer, at the second attempt' : 'the answer';
    case 'failed':
      return `${ERRORS[outcome.code].status} \`${outcome.code}\`${isRepeatable(outcome) ? '' : ', not again'}`;
    case 'cut':
      return `what came, then \`${outcome.code}\``;
  }
}

const beside = (outcome: Outcome): string => (isTakenOver(outcome, 'fallback') ? TAKEN_OVER : 'the same');

/** One text where both forms have the same, else one for each. */
function forBoth({ json, stream }: Fault, tell: (outcome: Outcome) => string): string {
  const [ofJson, ofStream] = [tell(json), tell(stream)];
  return ofJson === ofStream ? ofJson : `JSON: ${ofJson}; stream: ${ofStream}`;
}

/** What a caller or an invoice sees otherwise in a dialect, in a line each. */
function exceptionsOf(fault: Fault): string[] {
  const tell = (outcome: Outcome | null): string =>
    outcome === null ? 'makes no sense' : `${alone(outcome)}, costs ${CHARGES[outcome.charged]}`;
  return Object.entries(fault.except ?? {}).flatMap(
    ([dialect, { because, json = fault.json, stream = fault.stream }]) => {
      const told = [
        ...(tell(json) === tell(fault.json) ? [] : [`JSON: ${tell(json)}`]),
        ...(tell(stream) === tell(fault.stream) ? [] : [`stream: ${tell(stream)}`]),
      ];
      return told.length === 0 ? [] : `- \`${dialect}\` ${fault.does}: ${told.join('; ')}, for ${because}`;
    },
  );
}

function rowOf(fault: Fault): string {
  const cells = [
    fault.does,
    forBoth(fault, alone),
    forBoth(fault, beside),
    forBoth(fault, ({ charged }) => CHARGES[charged]),
    forBoth(fault, verdictOn),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** `docs/failure-modes.md`, made from the table of faults that the tests run; a test holds the file to it. */
export function failureModesPage(): string {
  const sections = GROUPS.map(({ title, faults }) => {
    const exceptions = faults.flatMap(exceptionsOf);
    return `## ${title}

| the upstream … | alone | with another | costs | health |
| --- | --- | --- | --- | --- |
${faults.map(rowOf).join('\n')}
${exceptions.length === 0 ? '' : `\nOtherwise:\n\n${exceptions.join('\n')}\n`}`;
  });
  return `# When an upstream fails

What callers get for everything that an upstream can do wrong. \`test/fault\` plays each row through a real server, as JSON
and as a stream, alone, with another endpoint of the model, and with a fallback; this page is made of the same table.
The upstreams speak OpenAI’s dialect, and those of Anthropic and Gemini, each with its own errors and its own way to
report usage; the same comes of it, except where a line below a table says otherwise.

**alone**: nobody else can answer. _Not again_: the error says \`x-should-retry: false\`, for something was charged or the
same would come of it. _What came, then_: the caller has read some of a stream. It ends with one
\`data: {"error": …, "platform": …}\`, without a \`finish_reason\` and without \`[DONE]\`, so that it cannot be taken for whole.

**with another**: another endpoint of the model is well, or a fallback. Before the first content part nobody but
\`platform\` tells that there was a fault.

**costs**: what is charged for an attempt where nobody else answers. _A broken answer_: the prompt, plus the largest of
the output counted here, the output reported, and what the model makes in the time; marked \`estimated\`, never above the
reservation. Where another answers, its answer is charged, and of the failed attempts what they reported.

**health**: _a fault_ counts for the circuit breaker of the endpoint and model, which passes over them for a while where
others are left. _A cool-down_ is not a fault: the endpoint is left alone for as long as it asked. _Misconfigured_: the
provider’s key is wrong or missing; it is left out until the policy is loaded again or a probe after 60 seconds
succeeds, and the log says so as an error. When only these two are left, the answer is 503 \`no_healthy_model\`.

${sections.join('\n')}`;
}
