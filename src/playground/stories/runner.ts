// Plays one story at a time, shows its progress, and at its end compares the books of its sales.
// A stopped or failed story is shown as such, without a verdict.

import { type BooksView, type StoryName, type StoryView, storyNames } from '../../cabinet/playground/view-schema.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { baniToLei } from '../../kernel/money.ts';
import type { World } from '../../kernel/world.ts';
import type { Sale } from '../erp/sale.ts';
import { doubleClick, lostAnswer, powerCut, refundOverRest } from './card-stories.ts';
import { deadErp, expiredQr } from './qr-stories.ts';
import { createStage, type Played, type Script, type StageDeps } from './stage.ts';

const scripts: Record<StoryName, Script> = { lostAnswer, powerCut, doubleClick, deadErp, expiredQr, refundOverRest };

const handsFreeWithinMs = 30_000;
/** After this pause a story continues without a request: it blocks all other stories, and the terminal's deadline would pass. */
const maxPauseMs = 120_000;

export interface StoryDeps extends StageDeps, Pick<World, 'random' | 'logger'> {
  booksOf(sales: readonly Sale[]): Promise<BooksView>;
}

export function createStoryRunner(deps: StoryDeps) {
  const { changes, logger, shop } = deps;
  let story: StoryView | undefined;
  let stopped: StoryView | undefined;
  let isStepByStep = false;

  async function pause(now: StoryView): Promise<void> {
    if (!isStepByStep) return;
    now.isWaiting = true;
    changes.changed();
    // The error does not matter: the step itself checks whether the story was stopped.
    await changes
      .until(
        () => now.isWaiting !== true,
        maxPauseMs,
        () => new Error('The next step was not requested in time.'),
      )
      .catch(() => undefined);
    now.isWaiting = false;
  }

  function goOn(): void {
    if (story) story.isWaiting = false;
    changes.changed();
  }

  async function run(now: StoryView): Promise<void> {
    try {
      await shop.putInOrder();
      deps.sink().isDown = false;
      const obstacle = await findObstacle(shop);
      if (obstacle) {
        now.verdict = { ...obstacle, erpHadToDo: { key: 'playground.erpHadToDo.notStarted', params: {} } };
        return;
      }
      // The story also plays the customer, so that card and PIN are visible.
      shop.first('terminal').device.customer.setByHand(true);
      const played = await scripts[now.name].play(
        createStage(
          deps,
          now,
          () => stopped === now,
          () => pause(now),
        ),
      );
      // The till may still be finishing; after its end the next story may begin at once.
      await changes.until(
        () => deps.till.underWay === 0,
        handsFreeWithinMs,
        () => new Error('The till did not finish in time.'),
      );
      await judge(deps.booksOf, now, played);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      logger.warn({ err: error, story: now.name }, 'a story of the playground failed');
      for (const step of now.steps) if (step.state === 'running') Object.assign(step, { state: 'trouble', params: { reason } });
      now.verdict = {
        key: 'playground.verdict.brokenOff',
        params: { reason },
        erpHadToDo: { key: 'playground.erpHadToDo.unclear', params: {} },
      };
    } finally {
      // Reset first: the next story may begin as soon as this one has ended.
      await shop.putInOrder();
      deps.sink().isDown = false;
      now.isRunning = false;
      now.isWaiting = false;
      changes.changed();
    }
  }

  return {
    play(name: StoryName): { runId: string } {
      if (story?.isRunning) throw new GatewayError('Device_Busy', 'A story is being played; wait for its end, or stop it.');
      if (deps.till.underWay > 0) throw new GatewayError('Device_Busy', 'The till is in the middle of a sale; wait for its end.');
      story = begin(deps, name);
      void run(story);
      changes.changed();
      return { runId: story.runId };
    },
    stop(): void {
      if (!story?.isRunning) throw new GatewayError('The_status_cannot_be_applied', 'No story is being played.');
      stopped = story;
      changes.stopWaiting(new Error('Stopped by the user.'));
    },
    /** Waits before each step until it is requested. Switching it off continues a waiting story. */
    setStepByStep(isOn: boolean): void {
      isStepByStep = isOn;
      if (!isOn) goOn();
      changes.changed();
    },
    nextStep(): void {
      if (story?.isWaiting !== true) throw new GatewayError('The_status_cannot_be_applied', 'No story waits for its next step.');
      goOn();
    },
    isStepByStep: () => isStepByStep,
    view: (): StoryView | undefined => story,
  };
}

/** A device that is blocked by an earlier operation cannot be used for a story. */
async function findObstacle(shop: StoryDeps['shop']): Promise<{ key: string; params: Record<string, string | number> } | undefined> {
  for (const { device } of [shop.first('terminal'), shop.first('register')]) {
    const holder = await shop.heldBy(device);
    if (!holder) continue;
    const key = `playground.verdict.${holder.documentState === 'open' ? 'documentOpen' : 'deviceHeld'}`;
    return { key, params: { device: device.name, amount: baniToLei(holder.amountBani ?? 0) } };
  }
  return undefined;
}

async function judge(booksOf: StoryDeps['booksOf'], now: StoryView, { sales, erpHadToDo, params }: Played): Promise<void> {
  const books = await booksOf(sales);
  const last = now.steps.at(-1);
  if (!books.agree && last) last.state = 'trouble';
  const { commandId, oid } = sales.at(-1) ?? {};
  now.verdict = {
    key: books.agree ? `playground.verdict.${now.name}` : 'playground.verdict.booksDiffer',
    params,
    erpHadToDo,
    booksAgree: books.agree,
    saleCommandId: commandId,
    oid,
  };
}

function begin({ random, clock }: Pick<StoryDeps, 'random' | 'clock'>, name: StoryName): StoryView {
  const { steps } = scripts[name];
  return {
    name,
    number: storyNames.indexOf(name) + 1,
    of: storyNames.length,
    runId: random.uuid(),
    isRunning: true,
    startedAt: new Date(clock.now()).toISOString(),
    steps: steps.map((key) => ({ key, state: 'waiting' })),
  };
}
