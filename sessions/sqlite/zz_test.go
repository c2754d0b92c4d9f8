package sqlite_test
import ("testing";"context";"dragoman/sessions";"dragoman/channels";"time";"fmt")
func BenchmarkHistory40(b *testing.B){
 s:=benchStore(b)
 ctx,cancel:=context.WithCancel(b.Context())
 done:=make(chan error,1)
 k:=channels.MustKey("x:1")
 go s.Run(ctx,func(ctx context.Context,c sessions.Claim) error{
   p,_:=s.Pending(ctx,c,1)
   if len(p.Messages)==0 {return nil}
   var ms []sessions.Message
   for i:=range 20 { ms=append(ms,sessions.Message{Role:"user",Content:fmt.Sprint("What do you know about ",i," and is it good to think of?"),Name:"Ann",Sender:"123456",At:time.Now(),Turn:"telegram:123456#4"},sessions.Message{Role:"assistant",Content:"echo: something that is about a hundred bytes long, as most of these answers are around here",At:time.Now(),Model:"fake",Usage:&sessions.Usage{Input:1000,Output:30},Turn:"telegram:123456#4"}) }
   done<-s.CommitTurn(ctx,c,sessions.Turn{ID:"t",Answers:[]sessions.Answered{{Seq:p.Messages[0].Seq}},Messages:ms})
   return nil})
 s.Accept(ctx,benchEntry(k,1)); <-done
 b.ReportAllocs(); b.ResetTimer()
 for i:=range b.N { h,err:=s.History(ctx,k,sessions.HistoryLimit{Messages:40-i%3,Bytes:2<<20}); if err!=nil||len(h.Messages)!=40-i%3 {b.Fatal(err,len(h.Messages))} }
 b.StopTimer(); cancel()
}
