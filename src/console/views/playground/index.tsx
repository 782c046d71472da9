import { useRef, useState } from 'preact/hooks';
import { useCreditsToSend } from '../../kit/amount-field.tsx';
import { ViewHead } from '../../shell/view-head.tsx';
import { AnswerCard, isUnderWay } from './answer.tsx';
import { bodyOfPrompt, DIALECTS, draftOf, operationOf, questionOf, requestOf, termsIn } from './body.ts';
import { Composer } from './composer.tsx';
import { type Controls, useControls } from './controls.ts';
import { DecisionCard } from './decision.tsx';
import { useExplanation } from './explanation.ts';
import { useRun } from './run.ts';
import { Sender, useOwnKeys } from './sender.tsx';
import { SnippetCard } from './snippet-card.tsx';

/** A request, the decision that it would get, and its answer. Only this page's memory contains the prompt. */
export default function Playground() {
  const { controls, change } = useControls();
  const [text, setText] = useState('');
  const own = useOwnKeys(controls.key);
  const { run, start, stop } = useRun();
  /** The body of the last sent request. The form shows the error of this body until the body changes. */
  const sent = useRef('');
  const draft = draftOf(text, controls.dialect);
  const { dialect } = controls;
  const body = draft.kind === 'broken' ? null : draft.kind === 'body' ? draft.body : bodyOfPrompt(text, dialect);
  const [costMax, budget] = [useCreditsToSend(controls.costMax), useCreditsToSend(controls.budget)];
  const isConverting = costMax.isUnderWay || budget.isUnderWay;
  const terms = { ...controls, costMax: costMax.sent, budget: budget.sent };
  const request = body && !isConverting ? requestOf(body, dialect, terms) : null;
  const hasText = text.trim() !== '';
  const explained = useExplanation(request && questionOf(request, dialect, hasText), own.chosen?.id ?? '');
  const { explanation } = explained;
  const chosen = explanation?.candidates?.find(({ model }) => model === explanation.choice);
  const send = () => {
    if (!request || !own.chosen) return;
    const first = explanation?.first_hold_credits ?? null;
    const hold = {
      first: first === null ? null : { credits: first, usd: explanation?.first_hold_usd ?? null },
      most: chosen?.worst_case_credits ?? null,
    };
    sent.current = JSON.stringify(request);
    start({ key: own.chosen.id, dialect, body: request, hold });
  };
  const isBusy = run !== null && isUnderWay(run);
  return (
    <div class="stack">
      <ViewHead
        title="Playground"
        summary="See which model a request would get before you spend anything"
        hasRange={false}
      />
      <div class="playground">
        <div class="card stack playground-left">
          <Composer
            text={text}
            onText={(next) => {
              setText(next);
              change(changesBy(text, next, controls));
            }}
            draft={draft}
            controls={controls}
            onControls={change}
            failure={(sent.current === JSON.stringify(request) ? run?.failure : null) ?? explained.failure}
          />
          <Sender
            own={own}
            operation={operationOf(dialect)}
            onKey={(key) => change({ key })}
            isStreamed={controls.isStreamed}
            canStream={DIALECTS[dialect].delta !== null}
            onStreamed={(isStreamed) => change({ isStreamed })}
            isReady={request !== null && hasText}
            isUnderWay={isBusy}
            onSend={send}
            onStop={stop}
          />
        </div>
        <div class="stack playground-right">
          {run && <AnswerCard run={run} onStop={stop} />}
          <DecisionCard explained={explained} hasText={hasText} isReadable={body !== null} />
          {request && hasText && <SnippetCard dialect={dialect} body={request} />}
        </div>
      </div>
    </div>
  );
}

/** The controls that an edit of the text changes: its dialect, and settings with a new value. */
function changesBy(before: string, after: string, { dialect }: Controls): Partial<Controls> {
  const next = draftOf(after, dialect);
  if (next.kind !== 'body') return {};
  const last = draftOf(before, dialect);
  const known = last.kind === 'body' ? JSON.stringify(termsIn(last.body)) : '';
  const stated = termsIn(next.body);
  return { dialect: next.dialect, ...(JSON.stringify(stated) !== known && stated) };
}
