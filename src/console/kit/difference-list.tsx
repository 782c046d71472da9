import { type Difference, pathWords } from './differences.ts';

/** Lists differences, each with its old and new value. */
export const DifferenceList = ({ of }: { readonly of: readonly Difference[] }) => (
  <dl class="differences">
    {of.map(({ path, before, after }) => (
      <div key={path}>
        <dt>{pathWords(path)}</dt>
        <dd>
          {before !== null && (
            <del>
              <span class="unseen">before: </span>
              {before}
            </del>
          )}
          {after !== null && (
            <ins>
              <span class="unseen">after: </span>
              {after}
            </ins>
          )}
        </dd>
      </div>
    ))}
  </dl>
);
