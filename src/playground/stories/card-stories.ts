// Four card sales with problems: a lost answer, a power cut, a double click, and a refund above the remainder.
import type { WireView } from '../../cabinet/playground/view-schema.ts';
import { sleep } from '../../kernel/clock.ts';
import { baniToLei } from '../../kernel/money.ts';
import type { BankEntry } from '../../virtual/books/bank.ts';
import type { Sale } from '../erp/sale.ts';
import { amountParams, chargesOf, customerPays, isThrough, nothing, type Script, type Stage } from './stage.ts';

/** Duration of the Wi-Fi outage. */
const outageMs = 1_500;
const erpReceivesPayment = (stage: Stage, sale: { paidBani: number }) => stage.until(() => sale.paidBani > 0, 60_000);

async function agree(stage: Stage, sale: Parameters<typeof isThrough>[0]): Promise<void> {
  await stage.until(() => isThrough(sale), 30_000);
}

/** The till calls Pay, and the gateway sends it to the terminal; `key`: the name of this step in the story. */
function paySent(stage: Stage, sale: Sale, key: string): Promise<WireView> {
  return stage.step(
    key,
    () => stage.until(() => stage.seenOnWire({ what: 'Pay' })),
    () => amountParams(sale),
  );
}

function bankApproves(stage: Stage, sale: Sale): Promise<BankEntry> {
  return stage.step(
    'bankYes',
    async () => {
      await customerPays(stage);
      return await stage.until(() => chargesOf(stage.terminal, sale.id)[0]);
    },
    ({ authCode }) => ({ authCode }),
  );
}

function booksAgree(stage: Stage, sale: Sale): Promise<unknown> {
  return stage.step(
    'booksAgree',
    () => agree(stage, sale),
    () => amountParams(sale),
  );
}

export const lostAnswer: Script = {
  steps: ['asks', 'bankYes', 'answerLost', 'recall', 'booksAgree'],
  async play(stage) {
    const { terminal, clock } = stage;
    terminal.mishaps.arm({ loseAnswer: true });
    const sale = stage.sell();
    const asked = await paySent(stage, sale, 'asks');
    const charge = await bankApproves(stage, sale);
    const lostAtMs = await stage.step('answerLost', async () => {
      await stage.until(() => stage.seenOnWire({ what: 'done', fate: 'lost' }));
      const atMs = clock.elapsed();
      // The Wi-Fi fails as well and recovers: the gateway sends a Recall as soon as the terminal reconnects.
      terminal.setFaults({ mqtt: false });
      await sleep(clock, outageMs);
      terminal.setFaults({ mqtt: true });
      return atMs;
    });
    await stage.step(
      'recall',
      async () => {
        await stage.until(() => stage.seenOnWire({ what: 'Recall', commandId: asked.commandId }), 60_000);
        await erpReceivesPayment(stage, sale);
      },
      () => ({ seconds: Math.round((clock.elapsed() - lostAtMs) / 100) / 10 }),
    );
    await booksAgree(stage, sale);
    return { sales: [sale], erpHadToDo: nothing, params: { ...amountParams(sale), authCode: charge.authCode } };
  },
};

export const powerCut: Script = {
  steps: ['asks', 'bankYes', 'powerLost', 'comesBack', 'answerFound', 'booksAgree'],
  async play(stage) {
    const { terminal } = stage;
    terminal.mishaps.arm({ powerCut: 'afterBank' });
    const sale = stage.sell();
    await paySent(stage, sale, 'asks');
    const charge = await bankApproves(stage, sale);
    await stage.step('powerLost', () => stage.until(() => !terminal.isOn() || stage.seenOnWire({ what: 'Recall' })));
    await stage.step('comesBack', () => stage.until(() => terminal.isOn() && terminal.isConnected('mqtt'), 30_000));
    await stage.step('answerFound', () => erpReceivesPayment(stage, sale));
    await booksAgree(stage, sale);
    return { sales: [sale], erpHadToDo: nothing, params: { ...amountParams(sale), authCode: charge.authCode } };
  },
};

export const doubleClick: Script = {
  steps: ['firstClick', 'secondClick', 'oneCharge', 'booksAgree'],
  async play(stage) {
    const { terminal, till } = stage;
    const sale = stage.sell();
    await paySent(stage, sale, 'firstClick');
    const [, second] = await stage.step('secondClick', () => Promise.all([customerPays(stage), till.clickAgain(sale)]));
    await stage.step(
      'oneCharge',
      () => stage.until(() => sale.paidBani > 0 && second.errorCode === 0 && second.OID === sale.commandId, 30_000),
      () => ({ charges: chargesOf(terminal, sale.id).length }),
    );
    await booksAgree(stage, sale);
    return { sales: [sale], erpHadToDo: nothing, params: amountParams(sale) };
  },
};

export const refundOverRest: Script = {
  steps: ['sold', 'partRefunded', 'moreRefused', 'restRefunded', 'booksAgree'],
  async play(stage) {
    const { till } = stage;
    const sale = stage.sell();
    await stage.step(
      'sold',
      async () => {
        await customerPays(stage);
        await agree(stage, sale);
      },
      () => amountParams(sale),
    );
    const partBani = Math.floor(sale.totalBani / 200) * 100;
    const restBani = sale.totalBani - partBani;
    const refund = async (amountBani: number, isWanted: (errorCode: number) => boolean) => {
      await sleep(stage.clock, stage.momentMs);
      const answer = await till.refund(sale, amountBani);
      if (!isWanted(answer.errorCode)) throw new Error(`The refund was answered ${answer.errorCode}: ${answer.errorMessage}`);
      return answer;
    };
    await stage.step(
      'partRefunded',
      () => refund(partBani, (code) => code === 0),
      () => ({ amount: baniToLei(partBani) }),
    );
    await stage.step(
      'moreRefused',
      () => refund(restBani + 100, (code) => code === 40),
      ({ errorCode }) => ({ amount: baniToLei(restBani + 100), left: baniToLei(restBani), errorCode }),
    );
    await stage.step(
      'restRefunded',
      () => refund(restBani, (code) => code === 0),
      () => ({ amount: baniToLei(restBani) }),
    );
    await booksAgree(stage, sale);
    const erpHadToDo = { key: 'playground.erpHadToDo.smallerRefund', params: { left: baniToLei(restBani) } };
    return { sales: [sale], erpHadToDo, params: amountParams(sale) };
  },
};
