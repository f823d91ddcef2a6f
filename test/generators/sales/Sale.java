// One sale by the client that openapi-generator makes for Java: test/docs/generated-sales.server.test.ts runs it.

import java.math.BigDecimal;
import java.util.List;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.FiscalModeApi;
import org.openapitools.client.api.PosModeApi;
import org.openapitools.client.model.*;

public class Sale {
    public static void main(String[] given) throws Exception {
        ApiClient client = new ApiClient();
        client.setScheme("http").setHost("127.0.0.1").setPort(Integer.parseInt(given[0])).setBasePath("/tillgate");
        client.setRequestInterceptor(request -> request.header("X-API-Key", given[1]));
        UUID terminal = UUID.fromString(given[2]);
        UUID number = UUID.randomUUID();
        PosModeApi pos = new PosModeApi(client);

        PayAnswer paid = pos.pay(new PayRequest().deviceID(terminal).amount(new BigDecimal("35.50")).documentNr(number), "pay-" + number);
        PayReport report = client.getObjectMapper().readValue(paid.getReport(), PayReport.class);
        System.out.println("pay " + paid.getErrorCode() + " " + paid.getState() + " " + report.getAmount());

        CloseDocRequest close = new CloseDocRequest().deviceID(terminal).documentNr(number.toString()).operationId(report.getOperationId());
        System.out.println("close " + pos.closeDoc(close, "close-" + number).getErrorCode());

        FiscalReceipt receipt = new FiscalReceipt().uid(number.toString())
            .items(List.of(new Item().name("Coffee").quantity(1).price("35.50")))
            .payments(List.of(new Payment().paymentCode(1).documentNr(number.toString())));
        ReceiptRequest print = new ReceiptRequest().deviceID(UUID.fromString(given[3])).receipt(receipt);
        System.out.println("print " + new FiscalModeApi(client).printReceipt(print, "print-" + number).getErrorCode());

        PayAnswer again = pos.pay(new PayRequest().deviceID(terminal).amount("35.50").documentNr(number), "again-" + number);
        System.out.println("again " + again.getErrorCode() + " " + again.getState());
    }
}
