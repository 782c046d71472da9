import { describe, expect, test } from 'bun:test';
import { profile } from '../../support/chat-body.ts';

const read = (content: string) => profile({ messages: [{ role: 'user', content }] });
const mistaken = (task: string, questions: readonly string[]) =>
  questions.filter((question) => read(question).task !== task).map((question) => [question, read(question).task]);

describe('requests that were once misread:', () => {
  test('a question about mathematical functions is not extraction', () => {
    const maths = [
      'Find all functions f: R→R such that f(x+y) = f(x) + f(y) for all real x, y.',
      'Find all functions $f:\\mathbb{R}\\to\\mathbb{R}$ with f(f(x)) = x',
      'Find all functions f: R→R such that f(x f(y)) = y f(x)',
    ];
    expect(mistaken('math', maths)).toEqual([]);
    expect(read('Find all names in this text: Ann met Bob.').task).toBe('extraction');
  });

  test('converting code is coding', () => {
    const cobol = '\n\n       CALC-TOTAL.\n           ADD ITEM-PRICE TO WS-TOTAL.\n           PERFORM APPLY-DISCOUNT.';
    expect(
      mistaken('coding', ['Convert this COBOL paragraph to Java', `Convert this COBOL paragraph to Java:${cobol}`]),
    ).toEqual([]);
    expect(read(`Convert this COBOL paragraph to Java:${cobol}`).languagesSeen).toEqual(['cobol', 'java']);
  });

  test('role play is chat', () => {
    const plays = [
      'You are Captain Mira, a sarcastic starship pilot. Stay in character. "So, Captain, where are we heading?"',
      "Let's role-play: you are a medieval innkeeper and I am a weary traveler. Greet me.",
    ];
    expect(mistaken('chat', plays)).toEqual([]);
  });

  test('a single line of code is coding', () => {
    const lines = [
      'for(let i=0;i<10;i++){console.log(i)}',
      'for(let i = 0; i < arr.length; i++) sum += arr[i]',
      'for (let i = 0; i <= arr.length; i++) {',
    ];
    expect(mistaken('coding', lines)).toEqual([]);
  });

  test('page layouts and cluster errors are coding', () => {
    const questions = [
      ...['center a div', 'How do I center a div?', 'my pod is in CrashLoopBackOff, what now'],
      'Warning  FailedScheduling  default-scheduler  0/3 nodes are available: 3 Insufficient cpu.',
      'Back-off restarting failed container, ImagePullBackOff. what should I do?',
    ];
    expect(mistaken('coding', questions)).toEqual([]);
  });

  test('a question about a journey is general', () => {
    const questions = [
      '¿Qué me recomiendas visitar en Lisboa en tres días?',
      'Voy a viajar a Japón en abril, ¿qué ropa debería llevar?',
      'Quiero viajar a Perú con mi familia dos semanas, ¿qué lugares nos recomiendas?',
    ];
    expect(mistaken('general', questions)).toEqual([]);
  });

  test('defining a programming term is general, using it is coding', () => {
    expect(
      mistaken('general', ['What is Python?', 'What is JavaScript?', 'what is kubernetes', 'Who created Java?']),
    ).toEqual([]);
    expect(
      mistaken('coding', [
        'How do I sort a list in Python?',
        'What is the difference between let and var in JavaScript?',
      ]),
    ).toEqual([]);
  });

  test('자바스크립트 is JavaScript, and 자바 is Java', () => {
    expect(read('자바스크립트로 배열을 정렬하는 함수를 작성해줘').languagesSeen).toEqual(['javascript']);
    expect(read('자바로 정렬 함수를 작성해줘').languagesSeen).toEqual(['java']);
  });

  test('letters of formulas do not indicate a natural language', () => {
    for (const formula of [
      '∫ x e^x dx',
      'integrate x^2 sin(x) dx',
      '\\int_0^\\pi \\sin x dx',
      '∫ sin(x) cos(x) dx = ?',
    ]) {
      expect([formula, read(formula).task]).toEqual([formula, 'math']);
      expect(['en', 'und']).toContain(read(formula).naturalLanguage);
    }
  });

  test('a word that English shares does not indicate another language', () => {
    const english = [
      ...['Solve x^2-5x+6=0', 'scala case class pattern matching', 'Give me 10 startup ideas'],
      'top ten customers last month',
    ];
    expect(english.map((question) => [question, read(question).naturalLanguage])).toEqual(
      english.map((question) => [question, 'en']),
    );
    const others = {
      de: 'Schreibe mir ein Script',
      es: 'Dame diez ideas para mi clase',
      fr: 'Une idée de script pour ma classe ?',
    };
    for (const [language, question] of Object.entries(others)) expect(read(question).naturalLanguage).toBe(language);
  });

  test('letters to offices, games and a failed login are not coding', () => {
    expect(mistaken('writing', ['Schreibe eine Kündigung für meinen Handyvertrag'])).toEqual([]);
    expect(mistaken('chat', ["Let's play 20 questions", "Let's play chess"])).toEqual([]);
    expect(read("Let's play 20 questions").output.stated).toBeNull();
    expect(['chat', 'general']).toContain(read("I can't log in").task);
  });

  test('a function within a line of code is coding, a mathematical function is not', () => {
    expect(mistaken('coding', ['What does this function do? def f(x): return x*2'])).toEqual([]);
    expect(mistaken('math', ['What is the derivative of the function f(x) = x^2 + 3x?'])).toEqual([]);
  });

  test('reviewing a clause under the law of a country is not translation', () => {
    const clause = "'The employee shall not work for any competitor worldwide for five years after termination.'";
    const { task, output } = read(`Review this clause for enforceability under German law: ${clause}`);
    expect(task).not.toBe('translation');
    expect(['reasoning', 'writing']).toContain(task);
    expect(output.stated).toBeNull();
    expect(read(`Translate this clause into German: ${clause}`).task).toBe('translation');
  });

  test('a short message has a short expected answer, but not after an answer', () => {
    for (const content of ['👍', 'hello']) {
      expect(read(content).output.atMost).toBe(40);
      const messages = [{ role: 'assistant', content: '1. A plan of ten pages?' } as const];
      const behind = profile({
        messages: [{ role: 'user', content: 'Help me' }, ...messages, { role: 'user', content }],
      });
      expect(behind.output.atMost).toBeNull();
    }
  });
});
